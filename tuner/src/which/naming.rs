//! Names of the functions of call paths, also of those that a shared object does not export.

use std::collections::{BTreeMap, BTreeSet};

use kilter_protocol::call_paths::Function;
use kilter_search::proof::Ran;
use kilter_which::{Fingerprint, component, fingerprint, symbols};

/// Largest shared object whose symbols are read.
const LARGEST_BYTES: u64 = 1 << 30;

/// Symbol tables that were read.
#[derive(Debug, Default)]
pub(super) struct Naming {
    /// Names of functions by file and offset; `None` for those without.
    names: BTreeMap<(String, u64), Option<String>>,
}

impl Naming {
    /// The fingerprint of a call, with all names that there are.
    pub(super) fn fingerprint(&mut self, ran: &Ran) -> Fingerprint {
        self.learn(&ran.paths.functions);
        let name = |function: &Function| {
            let key = (function.file.clone(), function.offset);
            let known = || self.names.get(&key).and_then(Option::as_deref);
            fingerprint::name(&function.file, function.offset, function.name.as_deref().or_else(known))
        };
        let mut paths: Vec<Vec<String>> = Vec::new();
        for path in ran.paths.each() {
            let own = path.take_while(|function| !component::is_of_system(&function.file));
            let own: Vec<String> = own.map(name).take_while(|name| !component::is_waiting(name)).collect();
            if !own.is_empty() && !paths.contains(&own) {
                paths.push(own);
            }
        }
        Fingerprint {
            paths,
            messages: ran.messages.clone(),
        }
    }

    /// Looks up functions without a name that nobody has looked up.
    fn learn(&mut self, functions: &[Function]) {
        let mut nameless: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        for function in functions.iter().filter(|function| function.name.is_none()) {
            if !self.names.contains_key(&(function.file.clone(), function.offset)) {
                nameless.entry(&function.file).or_default().insert(function.offset);
            }
        }
        for (file, offsets) in nameless {
            let is_small = std::fs::metadata(file).is_ok_and(|about| about.len() <= LARGEST_BYTES);
            // A file that only the hosts of the ranks have leaves its functions without names.
            let object = if is_small { std::fs::read(file).ok() } else { None };
            let mut found = object
                .map(|object| symbols::names(&object, &offsets))
                .unwrap_or_default();
            for offset in offsets {
                self.names.insert((file.to_owned(), offset), found.remove(&offset));
            }
        }
    }
}
