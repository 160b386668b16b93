mod scripted;
use kilter_online::Settings;
#[test]
fn table() {
    let runs: u64 = std::env::var("RUNS").ok().and_then(|r| r.parse().ok()).unwrap_or(20);
    for s in scripted::SCENARIOS {
        let all: Vec<_> = (0..runs).map(|seed| scripted::run(s, &Settings::default(), seed, None, &[])).collect();
        let share = |f: &dyn Fn(&scripted::Run) -> bool| all.iter().filter(|r| f(r)).count() as f64 / runs as f64 * 100.0;
        let mut ratio: Vec<f64> = all.iter().map(|r| r.behind / r.default * 100.0).collect();
        ratio.sort_by(f64::total_cmp);
        let mut until: Vec<f64> = all.iter().map(|r| r.calls_until_settled.map_or(1e9, |c| c as f64)).collect();
        until.sort_by(f64::total_cmp);
        let mut ep: Vec<u32> = all.iter().map(|r| r.epochs_until_settled.unwrap_or(u32::MAX)).collect();
        ep.sort();
        let settled: Vec<f64> = (0..s.arms).map(|a| share(&|r| r.settled == Some(a))).collect();
        let h = all.len() / 2;
        let mut own: Vec<f64> = all.iter().map(|r| r.worst_own as f64 / 1e5).collect(); own.sort_by(f64::total_cmp);
        let mut w: Vec<f64> = all.iter().map(|r| r.worst / 1e5).collect(); w.sort_by(f64::total_cmp);
        println!("   own {:.1} {:.1}   pseudo {:.1} {:.1}", own[h], own[all.len()-1], w[h], w[all.len()-1]);
        println!("{:28} broken {:5.1} drawn {:5.1} own {:5.1} behind% [{:6.2} {:6.2} {:6.2}] until {:6} ({} ep) max {:6} settled {:?} last2 {:.0} restarts {:.1} epochs {:.1} timed {:.0}",
            s.name, share(&|r| r.worst > 0.0), share(&|r| r.worst_drawn > 0.0), share(&|r| r.worst_own > 0), ratio[h/10], ratio[h], ratio[all.len()-1],
            until[h], ep[h], until[all.len()-1], settled, share(&|r| r.last == 2),
            all.iter().map(|r| r.restarts as f64).sum::<f64>() / runs as f64,
            all.iter().map(|r| r.epochs as f64).sum::<f64>() / runs as f64,
            all.iter().map(|r| r.timed as f64).sum::<f64>() / runs as f64);
    }
}
