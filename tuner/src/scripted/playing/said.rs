//! The worker's reports beside times: settings that were read back, messages, functions, bits.

use kilter_protocol::call_paths::CALL_PATHS;
use kilter_protocol::plan::Item;
use kilter_protocol::report::BITS;

use super::Playing;
use crate::scripted::call::Settings;
use crate::scripted::functions;

impl Playing {
    /// The worker's report of an item beside its times.
    pub(super) fn said(&self, item: &Item, settings: &Settings<'_>) -> Vec<(String, String)> {
        let mut said = item.settings.clone();
        let Some(collective) = item.task.collective() else {
            return said;
        };
        let call = self.call(item, settings, collective, item.bytes);
        // Another algorithm sends to other ranks.
        let algorithm = self.library.algorithm_of(&call);
        let sent = format!("0>1:{}", 1 + algorithm);
        said.extend(self.counters.iter().map(|counter| (counter.clone(), sent.clone())));
        if self.says_paths {
            let asked = self.component(settings, collective, item.bytes);
            let component = asked.filter(|_| !self.library.admits(settings));
            let paths = functions::of(collective.name(), component, call.algorithm == 0, algorithm);
            said.push((CALL_PATHS.to_owned(), serde_json::to_string(&paths).unwrap_or_default()));
        }
        if self.says_bits && collective.has_operator() {
            said.push((BITS.to_owned(), self.library.bits_of(&call)));
        }
        said
    }
}
