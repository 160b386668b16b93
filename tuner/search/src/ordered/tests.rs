//! Scripted costs.

use super::*;

const AXIS: Axis = Axis {
    min: 1024,
    max: 1 << 20,
    start: 65536,
    scale: Scale::Log2,
};

/// Minimises over one parameter.
fn one<E>(axis: Axis, evaluations: usize, evaluate: &mut dyn FnMut(u64) -> Result<f64, E>) -> Result<Option<Found>, E> {
    let space = Space {
        axes: vec![axis],
        evaluations,
    };
    minimise(&space, &Costs::new(), &mut |point| evaluate(point[0]))
}

fn valley(bottom: u64) -> impl FnMut(u64) -> Result<f64, ()> {
    move |value| Ok(((value as f64).log2() - (bottom as f64).log2()).abs() + 1.0)
}

#[test]
fn finds_the_bottom_of_a_valley_within_its_budget() {
    for bottom in [1024, 4096, 32768, 262_144, 1 << 20] {
        let found = one(AXIS, 9, &mut valley(bottom)).unwrap().unwrap();
        assert!(found.measured.len() <= 9);
        let off = ((found.values[0] as f64).log2() - (bottom as f64).log2()).abs();
        assert!(off <= 1.0, "bottom {bottom}, found {:?}", found.values);
    }
}

#[test]
fn finds_the_valley_beside_a_change_of_protocol() {
    // Milliseconds of a chain's broadcast, see `golden`: eager up to 32 KiB, rendezvous above.
    let mut chain = |value: u64| {
        let k = value as f64 / 1024.0;
        Ok::<f64, ()>(if k <= 32.0 {
            75.0 + 1280.0 / k
        } else {
            128.0 + (k.log2() - 8.0).abs() * 30.0
        })
    };
    let axis = Axis { start: 16384, ..AXIS };
    let found = one(axis, 7, &mut chain).unwrap().unwrap();
    assert_eq!(found.values, [32768], "{:?}", found.measured);
}

#[test]
fn every_value_is_measured_once() {
    let mut asked = Vec::new();
    one::<()>(AXIS, 9, &mut |value| {
        assert!(!asked.contains(&value), "{value} twice");
        asked.push(value);
        Ok(value as f64)
    })
    .unwrap();
    assert!(asked.len() > 3);
}

#[test]
fn a_budget_of_three_measures_three_values() {
    let found = one(AXIS, 3, &mut valley(4096)).unwrap().unwrap();
    assert_eq!(found.measured.len(), 3);
}

#[test]
fn a_failing_measurement_ends_the_search_and_an_infinite_cost_does_not() {
    assert_eq!(one(AXIS, 9, &mut |_| Err::<f64, _>("hung")), Err("hung"));
    let found = one::<()>(AXIS, 9, &mut |value| {
        Ok(if value > 8192 { f64::INFINITY } else { value as f64 })
    });
    assert!(found.unwrap().is_some_and(|found| found.values[0] <= 8192));
}

/// Segments and chains of a broadcast.
fn chains() -> Space {
    Space {
        axes: vec![
            AXIS,
            Axis {
                min: 1,
                max: 8,
                start: 4,
                scale: Scale::Linear,
            },
        ],
        evaluations: 10,
    }
}

/// Seconds of 4 MiB over chains of 32 ranks: many chains take long segments, one chain short ones.
fn seconds(point: &[u64]) -> f64 {
    let (segment, fan, bytes) = (point[0] as f64, point[1] as f64, f64::from(4 << 20));
    let busy = 1e-6 + segment * 1e-9;
    let length = (31.0 / fan).ceil();
    (bytes / segment).ceil() * fan * busy + (length - 1.0) * (5e-6 + busy) + 5e-6
}

/// The screening's results: two segments, and the library's number of chains.
fn screened() -> Costs {
    [vec![131_072, 4], vec![524_288, 4]]
        .map(|point| (point.clone(), seconds(&point)))
        .into()
}

#[test]
fn parameters_that_act_on_each_other_are_searched_together() {
    let mut all = Vec::new();
    for segment in chains().axes[0].values() {
        all.extend((1..=8).map(|fan| seconds(&[segment, fan])));
    }
    let least = all.into_iter().fold(f64::INFINITY, f64::min);
    let mut asked = Vec::new();
    let found = minimise::<()>(&chains(), &screened(), &mut |point| {
        assert!(
            !screened().contains_key(point) && !asked.contains(&point.to_vec()),
            "{point:?} twice"
        );
        asked.push(point.to_vec());
        Ok(seconds(point))
    });
    let found = found.unwrap().unwrap();
    assert!(found.cost <= 1.05 * least, "{least}: {found:?}");
    assert!(asked.len() <= 8, "{asked:?}");
    assert_eq!(found.cost, seconds(&found.values));
}

#[test]
fn together_no_more_is_measured_than_the_budget_allows_and_failures_are_avoided() {
    let space = Space {
        evaluations: 2,
        ..chains()
    };
    let found = minimise::<()>(&space, &screened(), &mut |point| Ok(seconds(point)))
        .unwrap()
        .unwrap();
    assert_eq!(found.measured.len(), 4);
    let one_chain_fails = |point: &[u64]| if point[1] == 1 { f64::INFINITY } else { seconds(point) };
    let found = minimise::<()>(&chains(), &screened(), &mut |point| Ok(one_chain_fails(point)))
        .unwrap()
        .unwrap();
    assert!(found.values[1] > 1 && found.cost.is_finite(), "{found:?}");
    let failing = minimise(&chains(), &screened(), &mut |_| Err::<f64, _>("hung"));
    assert_eq!(failing, Err("hung"));
    // Nothing is known, and the start fails: there is nothing to go on from.
    let mut asked = 0;
    let nothing = minimise::<()>(&chains(), &Costs::new(), &mut |point| {
        assert_eq!(point, [65536, 4]);
        asked += 1;
        Ok(f64::INFINITY)
    });
    assert_eq!((nothing, asked), (Ok(None), 1));
}

#[test]
fn many_parameters_take_no_more_than_pairs_of_steps() {
    let space = Space {
        axes: vec![AXIS; 6],
        evaluations: 30,
    };
    let bowl = |point: &[u64]| {
        let off = |value: &u64| ((*value as f64).log2() - 13.0).powi(2);
        1.0 + 0.1 * point.iter().map(off).sum::<f64>()
    };
    let start = vec![65536; 6];
    let known = Costs::from([(start.clone(), bowl(&start))]);
    let found = minimise::<()>(&space, &known, &mut |point| Ok(bowl(point)))
        .unwrap()
        .unwrap();
    assert!(found.cost < 1.5, "{found:?}");
}
