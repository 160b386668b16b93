//! Transports that a running job names decide which settings are proposed.

use std::cell::Cell;
use std::rc::Rc;

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

/// The job looks for no network where its messages go by shared memory, unless the site says so or it is UCX that carries them.
#[test]
fn jobs_start_quickly_where_messages_go_through_no_network() {
    let by_memory = "[host:1] selected ob1 best priority 20\n[host:1] mca: bml: Using memory btl for send to [[1,1],1] on node host\n";
    let quick = "[transports.quick_start]\nlooks = \"0\"\n";
    let launches = |says: &str, further: &str| {
        let quickly = Rc::new(Cell::new((0, 0)));
        let seen = Rc::clone(&quickly);
        let library = ScriptedLibrary::new()
            .described(&format!("{SPEAKING}{quick}"))
            .says(says)
            .cost("reduce", move |call, usual| {
                let (quickly, others) = seen.get();
                seen.set(if call.is("looks", "0") {
                    (quickly + 1, others)
                } else {
                    (quickly, others + 1)
                });
                usual
            });
        tune(library, &format!("{REDUCE} {further}"));
        let (quickly, others) = quickly.get();
        (quickly > 0, others > 0)
    };
    assert_eq!(launches(by_memory, "--mca other=1"), (true, false));
    assert_eq!(launches(by_memory, "--mca looks=1"), (false, true));
    assert_eq!(launches(BY_UCX, "--mca other=1"), (false, true));
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

/// UCX opens no connection whose sender may send pieces that are larger than the receiver's buffer.
#[test]
fn a_buffer_of_the_sender_comes_with_one_as_large_of_the_receiver() {
    let over_tcp = "[host:1] selected ucx best priority 51\n[1] [host:1:0] ucp_worker.c:1763 UCX  INFO    ep_cfg[1]: tag(tcp/eth0)\n";
    let buffer = |call: &Call<'_>, name: &str, default: u64| match call.number(name) {
        0 => default,
        bytes => bytes,
    };
    let sent = move |call: &Call<'_>| buffer(call, "UCX_TCP_TX_SEG_SIZE", 8192);
    let library = ScriptedLibrary::new()
        .described(SPEAKING)
        .says(over_tcp)
        .cost("reduce", move |call, usual| {
            usual * (1.0 + (sent(call) as f64 / 262_144.0).log2().abs())
        })
        .crashes(move |call| sent(call) > buffer(call, "UCX_TCP_RX_SEG_SIZE", 65_536));
    let run = tune(library, &format!("{REDUCE} --only parameters"));
    let mut deployed = changes(&run);
    deployed.sort();
    assert_eq!(deployed, ["UCX_TCP_RX_SEG_SIZE=262144", "UCX_TCP_TX_SEG_SIZE=262144"]);
    assert!(quarantined(&run).is_empty());
}

/// The threshold of UCX within hosts and between them.
fn thresholds(call: &Call<'_>) -> [String; 2] {
    let text = call.settings.value("UCX_RNDV_THRESH");
    let of = |key: &str| {
        let own = text
            .split(',')
            .find_map(|word| word.strip_prefix(key)?.strip_prefix(':'));
        own.unwrap_or(text).to_owned()
    };
    [of("intra"), of("inter")]
}

/// A threshold that would slow what goes between hosts is set within them alone, in one variable.
#[test]
fn a_threshold_is_set_for_one_kind_of_connection() {
    let by_version = |version: &str| {
        format!("{BY_UCX}[1] [host:1:0] ucp_context.c:1 UCX  INFO  Version {version} (loaded from libucp.so.0)\n")
    };
    let tuned = |version: &str| {
        let cost = |call: &Call<'_>, usual: f64| {
            let [within, between] = thresholds(call);
            let asks = within.parse().map_or(true, |bytes: u64| bytes <= 4096);
            match call.bytes {
                4096 if call.ranks == 4 && asks => 4.0 * usual,
                1024 if between != "auto" => 2.0 * usual,
                _ => usual,
            }
        };
        let library = ScriptedLibrary::new()
            .cost("reduce", cost)
            .described(SPEAKING)
            .says(&by_version(version));
        let (directory, site) = site(library);
        let arguments = [
            "--guidelines=GL8",
            "--sizes=1024,4096",
            "--layouts=2,2x2",
            "--only=parameters",
        ];
        let (reports, _) = site.tune_layouts(&arguments).unwrap();
        let emitted = std::fs::read_to_string(site.emitted().join("kilter.env")).unwrap_or_default();
        drop(directory);
        (reports, emitted)
    };
    let (reports, emitted) = tuned("1.17.0");
    let cells = reports[1].cells.iter();
    let after = cells.map(|cell| cell.after.as_ref().map(|after| after.verdict));
    assert!(
        after.into_iter().all(|after| after == Some(Outcome::Holds)),
        "{:#?}",
        reports[1].cells
    );
    let [line] = &emitted
        .lines()
        .filter(|line| line.starts_with("UCX_"))
        .collect::<Vec<_>>()[..]
    else {
        panic!("{emitted}")
    };
    assert!(
        line.starts_with("UCX_RNDV_THRESH=intra:") && line.ends_with(",inter:auto"),
        "{line}"
    );
    // An older release reads one value, and that one slows.
    let (_, emitted) = tuned("1.16.0");
    assert!(!emitted.contains("UCX_RNDV_THRESH="), "{emitted}");
}
