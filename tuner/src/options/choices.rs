//! Words of the command line as what they mean for measuring.

use kilter_protocol::plan::{Cache, Element, Synchronisation, Wait};
use kilter_stats::verdict::{Correction, Test};

use crate::cli;

pub(super) fn wait(choice: cli::WaitChoice) -> Option<Wait> {
    match choice {
        cli::WaitChoice::Spin => Some(Wait::Spin),
        cli::WaitChoice::Sleep => Some(Wait::Sleep),
        cli::WaitChoice::Auto => None,
    }
}

pub(super) fn sync(choice: cli::SyncChoice) -> Synchronisation {
    match choice {
        cli::SyncChoice::Auto => Synchronisation::Auto,
        cli::SyncChoice::SharedClock => Synchronisation::SharedClock,
        cli::SyncChoice::RoundTime => Synchronisation::RoundTime,
        cli::SyncChoice::Barrier => Synchronisation::Barrier,
    }
}

pub(super) fn cache(choice: cli::CacheChoice) -> Cache {
    match choice {
        cli::CacheChoice::Warm => Cache::Warm,
        cli::CacheChoice::Cold => Cache::Cold { bytes: None },
    }
}

pub(super) fn element(choice: cli::ElementChoice) -> Element {
    match choice {
        cli::ElementChoice::Byte => Element::Byte,
        cli::ElementChoice::Int => Element::Int,
        cli::ElementChoice::Float => Element::Float,
        cli::ElementChoice::Double => Element::Double,
    }
}

pub(super) fn test(choice: cli::TestChoice) -> Test {
    match choice {
        cli::TestChoice::Pairs => Test::Pairs,
        cli::TestChoice::Unpaired => Test::Unpaired,
        cli::TestChoice::SignedRank => Test::SignedRank,
        cli::TestChoice::RankSum => Test::RankSum,
        cli::TestChoice::BrunnerMunzel => Test::BrunnerMunzel,
        cli::TestChoice::KolmogorovSmirnov => Test::KolmogorovSmirnov,
    }
}

pub(super) fn correction(choice: cli::CorrectionChoice) -> Correction {
    match choice {
        cli::CorrectionChoice::Holm => Correction::Holm,
        cli::CorrectionChoice::Bh => Correction::BenjaminiHochberg,
    }
}
