//! An invented profile of two ranks for the tests.

use kilter_protocol::calls::{Calls, Communicator, EXTENSION, Line, Messages, Rank, Received, Site, VERSION, bucket};

use crate::profile::Profile;

pub(crate) const END: &str = r#"{"line":"end","lost_calls":0,"lost_messages":0,"lost_receives":0,"failed_calls":0}"#;

fn line(line: &Line) -> String {
    serde_json::to_string(line).unwrap()
}

pub(crate) fn rank_line(rank: u32) -> String {
    line(&Line::Rank(Rank {
        v: VERSION,
        rank,
        ranks: 2,
        host: format!("node{rank}"),
        process: 100 + rank,
        library: "Open MPI v4.1.4".to_owned(),
        seconds: 10.0,
        finalized: true,
        sampling: None,
    }))
}

fn communicator(id: u32, members: &str, size: u32) -> String {
    line(&Line::Communicator(Communicator {
        id,
        size,
        members: members.to_owned(),
        remote: None,
        sequence: 0,
        label: String::new(),
    }))
}

fn calls(function: &str, (calls, seconds, shortest): (u64, f64, f64), bytes: u64, communicator: Option<u32>) -> String {
    let reduces = function.ends_with("reduce");
    line(&Line::Calls(Calls {
        communicator,
        function: function.to_owned(),
        site: Some(0),
        bucket: bucket(bytes),
        datatype: (bytes > 0).then(|| "real".to_owned()),
        operator: reduces.then(|| "MPI_SUM".to_owned()),
        calls,
        seconds,
        shortest,
        longest: seconds / 2.0,
        bytes: bytes * calls,
        requests: if communicator.is_none() { calls } else { 0 },
    }))
}

/// Rank 0 computes for 8 s and rank 1 for 5 s; rank 1 waits for rank 0 in an allreduce.
pub(crate) fn profile() -> Profile {
    let directory = tempfile::tempdir().unwrap();
    let site = line(&Line::Site(Site {
        id: 0,
        module: "/home/user/solver".to_owned(),
        offset: 0x1234,
        symbol: String::new(),
    }));
    for rank in 0..2 {
        let allreduce = if rank == 0 { (100, 1.0, 0.005) } else { (100, 4.0, 0.01) };
        let mut lines = vec![
            rank_line(rank),
            communicator(0, "0-1", 2),
            communicator(1, &rank.to_string(), 1),
            site.clone(),
            calls("MPI_Allreduce", allreduce, 8, Some(0)),
            calls("MPI_Barrier", (1, 0.5, 0.5), 0, Some(0)),
        ];
        if rank == 0 {
            lines.push(calls("MPI_Isend", (5, 0.1, 0.01), 4096, Some(0)));
            lines.push(calls("MPI_Wait", (5, 0.4, 0.02), 0, None));
            lines.push(line(&Line::Messages(Messages {
                to: 1,
                messages: 5,
                bytes: 20480,
            })));
        } else {
            lines.push(calls("MPI_Recv", (5, 0.5, 0.05), 4096, Some(0)));
            lines.push(line(&Line::Received(Received {
                from: 0,
                function: "MPI_Recv".to_owned(),
                site: Some(0),
                calls: 5,
                seconds: 0.5,
                bytes: 20480,
            })));
        }
        lines.push(END.to_owned());
        let file = directory
            .path()
            .join(format!("rank-{rank}.node{rank}.{rank}.{EXTENSION}"));
        std::fs::write(file, lines.join("\n")).unwrap();
    }
    let mut profile = crate::gather::gather(directory.path()).unwrap();
    profile.command = "mpirun -n 2 solver".to_owned();
    profile
}
