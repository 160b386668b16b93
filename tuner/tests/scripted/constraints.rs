//! Settings that must not be made, or not without others.

use std::cell::Cell;
use std::rc::Rc;

use super::*;

/// Reduce is mended by `x`, the better the nearer to 8192 it is, which is not among the values of the screening.
fn constrained(constraint: &str) -> ScriptedLibrary {
    let row = "[[parameters]]\nname = \"x\"\ndefault = \"1024\"\ntry = [4096]\nsummary = \"scripted\"\n\
               ordered = { min = 512, max = 65536, scale = \"log2\" }\n";
    let table = format!("[[constraints]]\n{constraint}\notherwise = \"the job ends\"\nsource = \"the scenario\"\n");
    ScriptedLibrary::new()
        .described(row)
        .described(&table)
        .cost("reduce", |call, usual| {
            let steps = (call.number("x") as f64 / 8192.0).log2().abs();
            usual * (1.0 + steps)
        })
}

const CELL: &str = "--guidelines GL8 --sizes 4096 --only parameters";

/// The same, and how often a call was made under `x=8192`.
fn counted(constraint: &str) -> (ScriptedLibrary, Rc<Cell<usize>>) {
    let count = Rc::new(Cell::new(0));
    let own = Rc::clone(&count);
    let library = constrained(constraint).cost("reduce", move |call, seconds| {
        own.set(own.get() + usize::from(call.is("x", "8192")));
        seconds
    });
    (library, count)
}

#[test]
fn a_value_that_must_not_be_set_is_not_tried() {
    let (library, tried) = counted("name = \"x\"\nvalues = [8192]");
    let run = tune(library, CELL);
    assert_eq!((changes(&run), tried.get()), (Vec::new(), 0));
    // Without the constraint it is the best.
    let (library, tried) = counted("name = \"x\"\nvalues = [7]");
    assert_eq!(changes(&tune(library, CELL)), ["x=8192"]);
    assert!(tried.get() > 0);
}

#[test]
fn a_value_that_needs_another_setting_is_not_tried_without_it() {
    let needs_y = "name = \"x\"\nvalues = [8192]\nneeds = \"y\"";
    let (library, tried) = counted(needs_y);
    tune(library, CELL);
    assert_eq!(tried.get(), 0);
    let (library, _) = counted(needs_y);
    let library = library.setting("y", "0", &["4"]);
    assert_eq!(changes(&tune(library, &format!("{CELL} --mca y=4"))), ["x=8192"]);
}

#[test]
fn a_value_above_its_limit_is_tried_with_what_raises_the_limit() {
    let library = slow_reduce(|call| call.is("x", "3") && call.number("y") >= 3)
        .setting("x", "0", &["3"])
        .setting("y", "1", &["2"])
        .described(
            "[[constraints]]\nname = \"x\"\nat_most = { of = \"y\", default = 1 }\notherwise = \"the job ends\"\nsource = \"the scenario\"\n",
        )
        .crashes(|call| call.number("x") > call.number("y"));
    let run = tune(library, &format!("{REDUCE} --only parameters"));
    let mut deployed = changes(&run);
    deployed.sort();
    assert_eq!(deployed, ["x=3", "y=4"]);
    assert!(is_mended(&run, SLOW));
    assert!(quarantined(&run).is_empty());
}
