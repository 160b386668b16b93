//! Control variables of an item: written on every rank before its communicator is made or before each of its calls, as the
//! library has it, read back, and set back after.

use anyhow::Context;
use kilter_mpi::mpit::{ControlVariables, MpitError};
use kilter_protocol::fault::Fault;
use kilter_protocol::plan::{Header, Item, SettingsAct};

use crate::session::Session;

/// Names and values.
pub(crate) type Settings = Vec<(String, String)>;

/// Names and the values they had before, in the order they were written.
#[derive(Debug, Default)]
pub(crate) struct Before(Vec<(String, String)>);

/// Writes all settings; the former values are added to `before`, even if a later write fails.
///
/// # Errors
/// Why the first one that failed did.
pub(crate) fn write(
    variables: &mut ControlVariables,
    settings: &[(String, String)],
    before: &mut Before,
) -> Result<(), MpitError> {
    for (name, value) in settings {
        let old = variables.read(name)?;
        variables.write(name, value)?;
        before.0.push((name.clone(), old));
    }
    Ok(())
}

/// Reads the present values back from the library.
pub(crate) fn read_back(
    variables: &ControlVariables,
    settings: &[(String, String)],
) -> Result<Vec<(String, String)>, MpitError> {
    settings
        .iter()
        .map(|(name, _)| Ok((name.clone(), variables.read(name)?)))
        .collect()
}

/// A setting that does not read back as it was asked for.
pub(crate) struct Ineffective<'a> {
    name: &'a str,
    asked: &'a str,
    read: &'a str,
}

impl Ineffective<'_> {
    /// The fault, as this rank reports it.
    pub(crate) fn fault(&self, rank: usize) -> Fault {
        Fault::NoEffect {
            rank,
            name: self.name.to_owned(),
            asked: self.asked.to_owned(),
            read: self.read.to_owned(),
        }
    }
}

/// The first setting that does not read back as it was asked for.
pub(crate) fn ineffective<'a>(
    variables: &ControlVariables,
    settings: &'a [(String, String)],
    read_back: &'a [(String, String)],
) -> Option<Ineffective<'a>> {
    settings.iter().zip(read_back).find_map(|((name, asked), (_, read))| {
        let items = variables.enumeration(name).ok().flatten().unwrap_or_default();
        (!is_same(asked, read, &items)).then_some(Ineffective { name, asked, read })
    })
}

/// One value for each setting out of those that the ranks read: the first that is not the one asked for, else rank 0's.
pub(crate) fn worst(
    variables: &ControlVariables,
    settings: &[(String, String)],
    ranks: &[Vec<(String, String)>],
) -> Vec<(String, String)> {
    let read_by = |i: usize| ranks.iter().filter_map(move |values| values.get(i));
    settings
        .iter()
        .enumerate()
        .filter_map(|(i, setting)| {
            let one = std::slice::from_ref(setting);
            read_by(i)
                .find(|value| ineffective(variables, one, std::slice::from_ref(value)).is_some())
                .or_else(|| read_by(i).next())
                .cloned()
        })
        .collect()
}

/// Sets everything back, the last written first.
///
/// # Errors
/// A variable cannot be written: later items would be measured with a setting that is not theirs.
pub(crate) fn restore(variables: &mut ControlVariables, before: Before) -> anyhow::Result<()> {
    for (name, value) in before.0.into_iter().rev() {
        variables
            .write(&name, &value)
            .with_context(|| format!("`{name}` cannot be set back to `{value}`"))?;
    }
    Ok(())
}

/// The settings of an item that must hold during its calls.
pub(crate) fn during_calls(header: &Header, item: &Item) -> Settings {
    let is_held = |name: &String| header.settings == SettingsAct::OnCalls || header.held_on_calls.contains(name);
    let settings = item.settings.iter().filter(|(name, _)| is_held(name));
    settings.cloned().collect()
}

/// Calls `act` while what must hold during the item's calls does. They were written before, when its communicator was made.
///
/// # Errors
/// Those of `act`, or a variable that cannot be written any more.
pub(crate) fn holding<T>(
    session: &mut Session,
    item: &Item,
    mut act: impl FnMut(&mut Session) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut before = Before::default();
    let settings = during_calls(&session.header, item);
    let written = write(&mut session.variables, &settings, &mut before);
    written.context("a setting that an item's calls need")?;
    let returned = act(session);
    restore(&mut session.variables, before)?;
    returned
}

/// The settings of the item that is being carried out, where they act on calls.
pub(crate) struct Held<'a> {
    variables: &'a mut ControlVariables,
    /// Settings of each item; none if they hold elsewhere.
    items: &'a [Settings],
    of: Option<usize>,
    before: Before,
}

impl<'a> Held<'a> {
    /// Holds nothing yet.
    pub(crate) fn new(variables: &'a mut ControlVariables, items: &'a [Settings]) -> Held<'a> {
        Held {
            variables,
            items,
            of: None,
            before: Before::default(),
        }
    }

    /// Makes the settings of an item hold, and no others.
    pub(crate) fn hold(&mut self, item: usize) -> anyhow::Result<()> {
        if self.of == Some(item) {
            return Ok(());
        }
        self.release()?;
        if let Some(settings) = self.items.get(item) {
            write(self.variables, settings, &mut self.before)?;
        }
        self.of = Some(item);
        Ok(())
    }

    /// Sets everything back.
    pub(crate) fn release(&mut self) -> anyhow::Result<()> {
        self.of = None;
        restore(self.variables, std::mem::take(&mut self.before))
    }
}

/// True if two texts mean the same value: the same text, the number and the name of one item of an enumeration, the same number, or the same
/// truth.
fn is_same(asked: &str, got: &str, items: &[(i32, String)]) -> bool {
    let (asked, got) = (asked.trim(), got.trim());
    let truth = |text: &str| match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "enabled" => Some(true),
        "0" | "false" | "no" | "disabled" => Some(false),
        _ => None,
    };
    let number = |text: &str| text.parse::<f64>().ok();
    asked == got
        || items
            .iter()
            .any(|(number, item)| item == got && number.to_string() == asked)
        || (number(asked).is_some() && number(asked) == number(got))
        || (matches!(got, "true" | "false") && truth(asked) == truth(got))
}

#[cfg(test)]
mod tests {
    use kilter_protocol::json_line::JsonLine as _;
    use kilter_protocol::plan::{Implementation, Item, PlanLine, SettingsAct};
    use kilter_protocol::task::Task;

    use super::{during_calls, is_same};

    /// A component's choice acts on calls, and an algorithm's on communicators.
    #[test]
    fn a_setting_holds_during_calls_where_it_acts_on_them() {
        let line = br#"{"kind": "header", "v": 4, "root": {"fixed": 0}, "read_variables": [], "read_environment": [],
            "noise_repetitions": 0, "idle_seconds": 1.0, "held_on_calls": ["component"]}"#;
        let Ok(PlanLine::Header(mut header)) = PlanLine::from_json(line) else {
            panic!("a header")
        };
        let pair = |name: &str| (name.to_owned(), "3".to_owned());
        let item = Item {
            id: "default".to_owned(),
            task: Task::of(&"bcast(n)".parse().unwrap()).unwrap(),
            bytes: 8,
            implementation: Implementation::Expression {
                text: "bcast(n)".to_owned(),
            },
            settings: vec![pair("algorithm"), pair("component")],
            arrival: None,
            deployed: Vec::new(),
        };
        assert_eq!(during_calls(&header, &item), [pair("component")]);
        header.settings = SettingsAct::OnCalls;
        assert_eq!(during_calls(&header, &item), item.settings);
    }

    #[test]
    fn values_are_compared_by_meaning() {
        let items = [(0, "ignore".to_owned()), (4, "binary".to_owned())];
        for (asked, got, same) in [
            ("4", "binary", true),
            ("binary", "binary", true),
            ("4", "ignore", false),
            ("0", "binary", false),
            ("32768", "32768", true),
            ("32768", "0", false),
            (" 7", "7", true),
            ("0.50", "0.5", true),
            ("1", "true", true),
            ("no", "false", true),
            ("1", "false", false),
            ("self,vader", "self,vader", true),
            ("self,vader", "", false),
        ] {
            assert_eq!(is_same(asked, got, &items), same, "{asked} {got}");
        }
    }
}
