use kilter_model::config::library::find_for;
use kilter_protocol::machine::MARK;

use super::*;

fn open_mpi_says(text: &str) -> Names {
    let library = find_for("mpirun (Open MPI) 4.1.4").unwrap();
    heard(&library, text).unwrap().transports
}

/// Lines that Open MPI 4.1.4 and UCX 1.13.1 printed.
const UCX: &str = "[vm:30361] select: initializing pml component ucx\n[vm:30361] selected ucx best priority 51\n\
    [vm:30361] select: component ucx selected\n\
    [1795640033.109669] [vm:19053:0]      ucp_worker.c:1763 UCX  INFO    ep_cfg[0]: tag(self/memory0 cma/memory)\n\
    [1795640033.109877] [vm:19053:0]      ucp_worker.c:1763 UCX  INFO    ep_cfg[1]: tag(posix/memory cma/memory)\n";

#[test]
fn ucx_below_open_mpi_names_its_own_transports() {
    let heard = open_mpi_says(UCX);
    assert_eq!(heard, ["ucx", "ucx/posix", "ucx/cma"]);
    assert_eq!(in_words(&heard), "ucx (posix, cma)");
    // Between hosts as well, over two devices.
    let cluster = format!("{UCX}[1] [a:1:0] ucp_worker.c:1 UCX  INFO    ep_cfg[2]: tag(tcp/lo tcp/eth0)\n");
    assert_eq!(open_mpi_says(&cluster), ["ucx", "ucx/posix", "ucx/cma", "ucx/tcp"]);
    // Another level of the log leaves only the component.
    let silent: String = UCX
        .lines()
        .filter(|line| !line.contains("INFO"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(open_mpi_says(&silent), ["ucx"]);
}

#[test]
fn a_component_that_is_not_in_use_counts_for_nothing() {
    // UCX is opened and refuses itself; the log's lines are those of another user of it.
    let text = UCX.replace("selected ucx best priority 51", "selected ob1 best priority 20");
    let peers = "[vm:30648] mca: bml: Using vader btl for send to [[7005,1],0] on node vm\n\
                 [vm:30648] mca: bml: Using self btl for send to [[7005,1],1] on node vm\n\
                 [vm:30648] mca: bml: Using tcp btl for send to [[7005,1],2] on node other\n\
                 [vm:30648] mca: bml: Using vader btl for send to [[7005,1],3] on node vm\n";
    assert_eq!(open_mpi_says(&format!("{text}{peers}")), ["vader", "tcp"]);
    assert_eq!(open_mpi_says(""), Names::new());
}

#[test]
fn providers_of_libfabric_are_those_that_connect() {
    let text = "[vm:00455] mca:base:select:(  mtl) Querying component [ofi]\n[vm:00455] mca:base:select:(  mtl) Selected component [ofi]\n\
                [vm:00455] selected cm best priority 25\n\
                libfabric:9:1795640042::verbs:fabric:vrb_init_info():1346<info> no RDMA devices found\n\
                libfabric:9:1795640042::ofi_rxm:ep_ctrl:rxm_process_connreq():678<info> connreq for 0x5603bca1eea0\n\
                libfabric:9:1795640042::tcp:fabric:ofi_wait_del_fd():208<info> Given fd (25) not found in wait list - 0x55\n\
                libfabric:9:1795640042::sm2:ep_ctrl:sm2_resolve_addr():130<info> resolving node=NULL, service=NULL\n";
    assert_eq!(open_mpi_says(text), ["ofi", "ofi/ofi_rxm", "ofi/tcp"]);
}

#[test]
fn mpich_names_the_network_s_and_the_placement_the_others() {
    let library = find_for("HYDRA build details: Version: 4.3.2").unwrap();
    let says = |text: &str, hosts: &[&str]| {
        let ranks = hosts
            .iter()
            .map(|host| format!("{{\"host\":\"{host}\",\"cpus\":\"\",\"clock_offset_ns\":0,\"round_trip_ns\":0}}"));
        let ranks: Vec<String> = ranks.collect();
        let machine = format!(
            "{MARK}{{\"v\":1,\"library\":\"\",\"ranks\":[{}],\"clock_tick_seconds\":0,\"clock_read_seconds\":0,\
             \"malloc_maps_from_bytes\":null,\"variables\":{{}},\"hosts\":{{}}}}",
            ranks.join(",")
        );
        heard(&library, &format!("{text}{machine}\n")).unwrap().transports
    };
    let ucx = "==== UCX netmod Capability ====\n[1] [a:1:0] ucp_worker.c:1 UCX  INFO    ucp_context_0 inter-node cfg#2 tag(tcp/eth0)  rma(tcp/eth0)\n";
    assert_eq!(says(ucx, &["a", "a"]), ["shm"]);
    assert_eq!(says(ucx, &["a", "b"]), ["ucx", "ucx/tcp"]);
    assert_eq!(says(ucx, &["a", "a", "b"]), ["shm", "ucx", "ucx/tcp"]);
    let ofi = "libfabric provider: tcp;ofi_rxm - 192.0.2.0/24\n";
    assert_eq!(says(ofi, &["a", "b"]), ["ofi", "ofi/tcp", "ofi/ofi_rxm"]);
}

/// UCX says its version at the same level, and hosts say their devices where they are asked.
#[test]
fn versions_and_devices_are_heard() {
    let library = find_for("mpirun (Open MPI) 5.0.11").unwrap();
    let loaded =
        "[1] [vm:19053:0]     ucp_context.c:2749 UCX  INFO  Version 1.17.0 (loaded from /usr/lib/libucp.so.0)\n";
    let machine = format!(
        "{MARK}{{\"v\":1,\"library\":\"\",\"ranks\":[],\"clock_tick_seconds\":0,\"clock_read_seconds\":0,\"malloc_maps_from_bytes\":null,\
         \"variables\":{{}},\"hosts\":{{\"a\":{{\"/sys/class/misc\":\"fuse\\nknem\\nxpmem\"}},\"b\":{{\"/sys/class/misc\":\"kvm\\nxpmem\"}}}}}}\n"
    );
    let heard_in = |text: &str| heard(&library, text).unwrap();
    let all = heard_in(&format!("{UCX}{loaded}{machine}"));
    assert_eq!(all.versions, [("ucx".to_owned(), "1.17.0".to_owned())].into());
    assert_eq!(all.devices, ["xpmem".to_owned()].into());
    let silent = heard_in(UCX);
    assert!(silent.versions.is_empty() && silent.devices.is_empty());
    // The log is that of another user of UCX.
    let other = UCX.replace("selected ucx best priority 51", "selected ob1 best priority 20");
    assert!(heard_in(&format!("{other}{loaded}")).versions.is_empty());
    let host_without_words = machine.replace("{\"/sys/class/misc\":\"kvm\\nxpmem\"}", "{}");
    assert!(heard_in(&host_without_words).devices.is_empty());
}

#[test]
fn the_component_of_single_copy_belongs_to_shared_memory() {
    let library = find_for("mpirun (Open MPI) 5.0.11").unwrap();
    let text = "[vm:1] mca_smsc_base_select: component cma priority=37\n\
                [vm:1] mca_smsc_base_select: selected shared-memory single-copy component: cma\n\
                [vm:1] selected ob1 best priority 20\n\
                [vm:1] mca: bml: Using sm btl for send to [[7005,1],1] on node vm\n";
    let transports = |text: &str| heard(&library, text).unwrap().transports;
    assert_eq!(transports(text), ["sm", "sm/cma"]);
    assert_eq!(transports(&text.replace("sm btl", "tcp btl")), ["tcp"]);
    let none = text.replace(
        "selected shared-memory single-copy component: cma",
        "no shared-memory single-copy component available",
    );
    assert_eq!(transports(&none), ["sm"]);
}
