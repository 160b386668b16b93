//! Transports that a running job names decide which settings are proposed.

use super::*;

/// A library that can use UCX, and says what it takes in Open MPI's words.
const SPEAKING: &str = "[transports.shared]\nucx = \"ucx\"\n[transports.speech]\nreader = \"open_mpi\"\n";

const BY_UCX: &str = "[host:1] selected ucx best priority 51\n\
    [1] [host:1:0] ucp_worker.c:1763 UCX  INFO    ep_cfg[1]: tag(posix/memory cma/memory)\n";

/// Reduce is slow while UCX asks the receiver of 4096 B first.
fn slow_by_rendezvous() -> ScriptedLibrary {
    slow_reduce(|call| call.number("UCX_RNDV_THRESH") > 4096).described(SPEAKING)
}

#[test]
fn a_setting_of_the_transport_in_use_mends_a_cell_and_is_emitted() {
    let (directory, site) = site(slow_by_rendezvous().says(BY_UCX));
    let run = tune_at(&site, &format!("{REDUCE} --only parameters"));
    assert!(is_mended(&run, SLOW), "{:#?}", run.report.warnings);
    let [change] = &changes(&run)[..] else {
        panic!("{:?}", changes(&run))
    };
    let value: u64 = change.strip_prefix("UCX_RNDV_THRESH=").unwrap().parse().unwrap();
    assert!(value > 4096);
    let emitted = std::fs::read_to_string(directory.path().join("out/emit/kilter.env")).unwrap();
    assert!(emitted.lines().any(|line| line == change), "{emitted}");
    assert!(emitted.contains("ucx ucx/posix ucx/cma"), "{emitted}");
}

/// The library could use UCX, and the job says that it does not: nothing of UCX's is tried.
#[test]
fn settings_of_a_transport_that_is_not_in_use_are_not_tried() {
    let by_another = "[host:1] selected ob1 best priority 20\n[host:1] mca: bml: Using memory btl for send to [[1,1],1] on node host\n";
    let run = tune(
        slow_by_rendezvous().says(by_another),
        &format!("{REDUCE} --only parameters"),
    );
    assert_eq!(changes(&run), Vec::<String>::new());
    assert!(!is_mended(&run, SLOW));
}

/// A site's own list of UCX's transports is left alone, whatever would be faster.
#[test]
fn a_site_s_choice_of_transports_stays() {
    let library = slow_reduce(|call| call.is("UCX_TLS", "^cma"))
        .described(SPEAKING)
        .says(BY_UCX);
    let run = tune(library, &format!("{REDUCE} --only parameters"));
    assert_eq!(changes(&run), ["UCX_TLS=^cma"]);
    let library = slow_reduce(|call| call.is("UCX_TLS", "^cma"))
        .described(SPEAKING)
        .says(BY_UCX);
    let run = tune(
        library,
        &format!("{REDUCE} --only parameters --env UCX_TLS=posix,cma,self"),
    );
    assert_eq!(changes(&run), Vec::<String>::new());
}
