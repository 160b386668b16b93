//! Search: from violated cells to decisions.

pub mod at_start;
pub mod choose;
pub mod contest;
pub mod credits;
pub mod gates;
pub mod guide;
pub mod limits;
pub mod necessity;
pub mod ordered;
pub mod pairs;
pub mod proof;
pub mod quarantine;
pub mod ranking;
pub mod reasons;
pub mod settings;
pub mod space;
pub mod target;
pub mod together;
pub mod trials;
