use std::collections::BTreeMap;

use kilter_fixtures::markup::check_page;

use super::*;
use crate::fixture::{night, silent};
use crate::nodes::{self, Kind, Measured};
use crate::pairs::pairs;

/// A night with so many hosts, whose pairs take twice or as long as `factor` says.
fn with_hosts(hosts: usize, factor: impl Fn(usize, usize) -> f64) -> Night {
    let mut night = silent();
    night.hosts = (0..hosts)
        .map(|host| format!("node{host:03}.cluster.example"))
        .collect();
    let times = |usual: f64| -> Measured {
        let time = |(a, b): (usize, usize)| ((a, b), vec![usual * factor(a, b); 3]);
        pairs(hosts).into_iter().map(time).collect()
    };
    let measured = BTreeMap::from([(Kind::Latency, times(2e-6)), (Kind::Bandwidth, times(2e-4))]);
    let rule = nodes::Rule {
        alpha: 0.005,
        tolerance: 0.1,
    };
    night.nodes = Some(nodes::judge(&night.hosts, &measured, &rule));
    night
}

fn count(page: &str, part: &str) -> usize {
    page.matches(part).count()
}

#[test]
fn the_page_has_everything_and_fetches_nothing() {
    let mut night = night();
    night.changes[0].to = "6.1 <b>\"new\"".to_owned();
    night.unchecked = vec!["a pair gave no times".to_owned()];
    night.warnings = vec!["another job ran".to_owned()];
    let page = render(&night).unwrap();
    check_page(&page);
    for part in [
        "<h1>1 fact changed, 1 setting acts no longer, 1 guideline is violated again, 1 call is slower, 1 host is slow</h1>",
        "class=\"answer bad\"",
        "n2, n3",
        "no longer acts",
        "reduce(n) &#60;= allreduce(n)",
        "2.10 [2.00, 2.20]",
        "SLOW n2: small messages take 2.00 times that of the others",
        "reduce(n) 4096: accepted 4.00 us, 3.95 us to 4.05 us; tonight 8.40 us, 8.10 us to 8.70 us; slower",
        "a pair gave no times",
        "another job ran",
        "prefers-color-scheme: dark",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    assert!(!page.contains("<b>"), "text from outside is quoted");
}

#[test]
fn a_silent_night_and_the_first_one_show_what_they_have() {
    let page = render(&silent()).unwrap();
    check_page(&page);
    assert!(page.contains("<h1>Nothing changed</h1>") && page.contains("class=\"answer good\""));
    assert!(!page.contains("id=\"changed\"") && !page.contains("id=\"hosts\""));
    let mut first = silent();
    (first.accepted, first.accepts) = (None, true);
    first.times.clear();
    let page = render(&first).unwrap();
    check_page(&page);
    assert!(page.contains("<h1>The first night</h1>") && !page.contains("id=\"times\""));
}

#[test]
fn a_slow_host_is_framed_named_and_darker_than_the_others() {
    let night = with_hosts(4, |a, b| if a == 1 || b == 1 { 2.5 } else { 1.0 });
    let page = render(&night).unwrap();
    check_page(&page);
    // Two maps, of six pairs with two squares each.
    assert_eq!(count(&page, "><title>node"), 2 * 12);
    assert_eq!(
        (
            count(&page, "<rect class=\"q5\" x"),
            count(&page, "<rect class=\"q1\" x")
        ),
        (2 * 6, 2 * 6)
    );
    assert_eq!(
        count(&page, "<rect class=\"slow\""),
        2 * 2,
        "row and column of each map"
    );
    assert_eq!(count(&page, ">◀ 2.50<"), 2);
    assert_eq!(
        count(&page, "class=\"number on-q5\">") + count(&page, "class=\"number on-q5\" x"),
        12
    );
    assert!(page.contains("node001.cluster.example and node002.cluster.example: 5.00 us, 2.50 times the usual"));
    assert!(page.contains("class=\"panels\""), "beside each other");
}

#[test]
fn a_slow_pair_is_framed_by_itself() {
    let night = with_hosts(8, |a, b| if (a, b) == (2, 5) { 3.0 } else { 1.0 });
    let map = night.nodes.clone().unwrap();
    assert!(map.slow.iter().all(|slow| slow.hosts.len() == 2), "{:?}", map.slow);
    let page = render(&night).unwrap();
    assert_eq!(count(&page, "<rect class=\"slow\""), 2 * 2, "both squares of each map");
    assert!(page.contains("<h1>1 pair of hosts is slow</h1>"), "{page}");
}

#[test]
fn many_hosts_have_a_square_for_each_measured_pair_and_names_that_do_not_overlap() {
    for (hosts, named) in [(64, 64), (300, 100)] {
        let night = with_hosts(hosts, |a, b| if a == 7 || b == 7 { 1.7 } else { 1.0 });
        let page = render(&night).unwrap();
        check_page(&page);
        assert_eq!(count(&page, "><title>node"), 2 * 2 * 3 * hosts, "{hosts}");
        assert!(!page.contains("class=\"number"), "{hosts}");
        assert!(page.contains("class=\"panels single\""), "{hosts}");
        assert!(page.contains(">◀ 1.70<"), "{hosts}");
        let names = count(&page, "<title>node0") / 4;
        assert!(names >= named.min(100), "{hosts}: {names}");
        // The slow host is named even between two that are.
        assert!(
            page.contains("class=\"name slow y\"") && page.contains("node007"),
            "{hosts}"
        );
        assert!(page.len() < 1 << 20, "{hosts}: {}", page.len());
    }
}

#[test]
fn names_lose_their_domain_where_they_differ_without_it() {
    let names = |hosts: &[&str]| map::labels(&hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>());
    assert_eq!(names(&["a1.x.org", "a2.x.org"]), ["a1", "a2"]);
    assert_eq!(names(&["a.x.org", "a.y.org"]), ["a.x.org", "a.y.org"]);
    let long = names(&["a-very-long-name-of-a-host-0001"]);
    assert!(long[0].starts_with('…') && long[0].ends_with("host-0001"), "{long:?}");
    assert_eq!(long[0].chars().count(), 18);
}

#[test]
fn an_axis_of_times_is_cropped_where_one_of_them_is_far_away() {
    let mut night = silent();
    let places = |night: &Night| -> Vec<f64> {
        let page = render(night).unwrap();
        check_page(&page);
        let starts = page.split("<line class=\"tonight\" x1=\"").skip(1);
        starts.filter_map(|rest| rest.split('%').next()?.parse().ok()).collect()
    };
    // The legend's own line has no percent.
    let near = places(&night);
    assert!(near.iter().all(|at| (2.0..98.0).contains(at)), "{near:?}");
    night.times[0].seconds_interval = Some((1e-9, 1e-3));
    assert_eq!(places(&night).last(), Some(&0.0), "beyond the edge");
    night.times[0].pace = Pace::NotMeasured;
    (night.times[0].seconds, night.times[0].seconds_interval) = (None, None);
    let page = render(&night).unwrap();
    assert!(page.contains("; not measured\"") && !page.contains("NaN"), "{page}");
}
