//! Rectangles, colours and titles of scripted maps.

use kilter_fixtures::survey as fixture;

use super::*;

fn fills(svg: &str) -> Vec<&str> {
    let cells = svg.split(r#"<g class="bar-of-colours""#).next().unwrap();
    let rectangles = cells.split("<rect class=\"q").skip(1);
    rectangles.filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn every_cell_is_a_rectangle_of_its_colour_and_explains_itself() {
    let map = fixture::map(Benchmark::Receiver, fixture::rendezvous);
    let svg = draw(&map, "A threshold.").unwrap();
    let fills = fills(&svg);
    assert_eq!(fills.len(), 300);
    // 0.08 is nearly black, 0.97 nearly red: steps 2 and 19 of 40.
    assert_eq!(fills.iter().filter(|fill| **fill == "2").count(), 12 * 15);
    assert_eq!(fills.iter().filter(|fill| **fill == "19").count(), 8 * 15);
    assert!(svg.contains("<title>32 KiB, 1.02 ms: ratio 0.97 ["), "{svg}");
    assert!(svg.contains("; communication alone 9.55 us, both 1.03 ms</title>"));
    assert!(svg.contains("<desc id=\"overlap-receiver-d\">A threshold.</desc>"));
}

#[test]
fn colours_are_cropped_masks_are_hatched_and_what_is_filled_in_is_dotted() {
    let mut map = fixture::map(Benchmark::Sender, |bytes, _| if bytes > 1 << 20 { 7.0 } else { -0.4 });
    map.cells[0].noise_seconds = 1.0;
    map.cells[1].inferred = true;
    map.cells[2].inferred = true;
    map.cells[3].disturbed = 2;
    let svg = draw(&map, "").unwrap();
    let fills = fills(&svg);
    assert_eq!(fills.len(), 299);
    assert!(fills.iter().all(|fill| ["0", "40"].contains(fill)));
    assert_eq!(svg.matches("fill=\"url(#overlap-sender-m)\"").count(), 1);
    assert_eq!(svg.matches("h0").count(), 2, "one dot each");
    assert_eq!(svg.matches("filled in, not measured").count(), 2);
    assert_eq!(svg.matches("masked, too near the noise of 1.00 s").count(), 1);
    assert_eq!(svg.matches("; 2 repetitions disturbed").count(), 1);
}

#[test]
fn cells_tile_the_plot_and_the_line_stands_at_communication() {
    let map = fixture::map(Benchmark::Sender, fixture::threaded);
    let axes = Axes::of(&map).unwrap();
    let columns: Vec<(f64, f64)> = axes.columns.values().copied().collect();
    assert!((columns[0].0 - LEFT).abs() < 1e-9 && (columns[19].1 - RIGHT).abs() < 1e-9);
    assert!(columns.windows(2).all(|pair| pair[0].1 == pair[1].0));
    let heights: Vec<f64> = axes.rows.values().map(|(low, high)| low - high).collect();
    assert!(
        heights
            .iter()
            .all(|height| (height - (BOTTOM - TOP) / 15.0).abs() < 1e-6),
        "{heights:?}"
    );
    // Communication of 4 MiB takes 842 us, which lies within the row of 1.024 ms.
    let y = axes.y.unwrap().at(fixture::communication(4 << 20));
    let (low, high) = axes.rows[&1_024_000];
    assert!((high..low).contains(&y));
    let svg = draw(&map, "").unwrap();
    assert!(
        svg.contains(&format!("L{:.1} {y:.1}\"/></g>", axes.x.at((4 << 20) as f64))),
        "{svg}"
    );
}

#[test]
fn threads_stand_in_even_steps_on_a_logarithmic_scale_of_colours() {
    let map = fixture::thread_load(|_, threads| 10_f64.powi(i32::try_from(threads).unwrap()));
    let svg = draw(&map, "").unwrap();
    let fills = fills(&svg);
    assert_eq!(&fills[..9], ["0", "13", "27", "40", "40", "40", "40", "40", "40"]);
    assert!(!svg.contains("class=\"comm\"") && svg.contains("computing threads"));
    assert!(svg.contains("<title>8 B, 2 threads: slowdown 100 ["), "{svg}");
}

#[test]
fn failed_cells_are_crossed_with_the_reason_and_odd_grids_are_drawn() {
    let mut map = fixture::map(Benchmark::Sender, fixture::serial);
    map.cells.truncate(1);
    map.failed.push(Failed {
        bytes: 64,
        computation_ns: 1000,
        threads: 1,
        reason: "it said <\"no\">".to_owned(),
    });
    let svg = draw(&map, "").unwrap();
    assert_eq!(svg.matches("class=\"failed\"").count(), 1);
    assert!(svg.contains("64 B, 1.00 us: not measured: it said &lt;&quot;no&quot;&gt;"));
    map.failed.clear();
    map.cells[0].bytes = 0;
    map.cells[0].computation_ns = 0;
    map.cells[0].communication_seconds = f64::NAN;
    let svg = draw(&map, "").unwrap();
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    map.cells.clear();
    assert_eq!(draw(&map, ""), None);
}
