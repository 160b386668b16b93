//! Cut off after each step, as by a kill.

use super::{Home, SITE, session, staged};

#[test]
fn cut_off_after_any_step_the_next_command_finishes_the_way_back() {
    let steps = {
        let home = Home::new();
        home.apply(&staged(1, true), false).unwrap().steps()
    };
    assert!(steps > 30);
    let mut unfinished = 0;
    for stop in 0..=steps {
        let home = Home::new();
        let before = home.tree();
        let cut_off = home.apply(&staged(32768, true), false).unwrap().carry_out(Some(stop));
        assert_eq!(cut_off.is_ok(), stop == steps);
        match session::unfinished(&home.journal()).unwrap() {
            Some(way_back) => {
                unfinished += 1;
                way_back.carry_out(None).unwrap();
            }
            // Before the entry was complete nothing had changed; after the last step it is for rollback.
            None if home.tree() != before => home.rollback().unwrap().carry_out(None).unwrap(),
            None => {}
        }
        assert_eq!(home.tree(), before, "stopped after {stop} of {steps} steps");
        assert!(session::unfinished(&home.journal()).unwrap().is_none());
        // And it can be applied again.
        home.apply(&staged(32768, true), false)
            .unwrap()
            .carry_out(None)
            .unwrap();
    }
    assert!(unfinished > 20, "{unfinished} of {steps}");
}

#[test]
fn a_way_back_that_is_cut_off_after_any_step_is_finished() {
    for applied in [None, Some(25)] {
        let mut stop = 0;
        loop {
            let home = Home::new();
            let before = home.tree();
            let _ = home.apply(&staged(32768, true), false).unwrap().carry_out(applied);
            // Lines that the user adds meanwhile survive it.
            let edited = [home.read(".openmpi/mca-params.conf").as_bytes(), b"\npml = ob1\n"].concat();
            let edit = stop % 2 == 1 && applied.is_none();
            if edit {
                home.write(".openmpi/mca-params.conf", &edited);
            }
            let way_back = session::unfinished(&home.journal())
                .unwrap()
                .unwrap_or_else(|| home.rollback().unwrap());
            let ended = way_back.carry_out(Some(stop)).is_ok();
            if let Some(rest) = session::unfinished(&home.journal()).unwrap() {
                rest.carry_out(None).unwrap();
            } else if !ended {
                home.rollback().unwrap().carry_out(None).unwrap();
            }
            if edit {
                assert!(home.read(".openmpi/mca-params.conf").ends_with("\npml = ob1\n"));
                home.write(".openmpi/mca-params.conf", SITE);
            }
            assert_eq!(home.tree(), before, "stopped after {stop} steps");
            if ended {
                break;
            }
            stop += 1;
        }
        assert!(stop > 20);
    }
}
