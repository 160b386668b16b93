//! Data that all of the tuner speaks of: configuration, plans, options, deployments, reports. Nothing here measures,
//! decides or launches.

pub mod arrival;
pub mod change;
pub mod config;
pub mod deployment;
pub mod fix;
pub mod layout;
pub mod ledger;
pub mod limits;
pub mod not_deployed;
pub mod options;
pub mod place;
pub mod plan;
pub mod range;
pub mod ranged;
pub mod reading;
pub mod report;
pub mod scope;
pub mod setup;
pub mod survey;
pub mod typed;
pub mod ucc_tune;
