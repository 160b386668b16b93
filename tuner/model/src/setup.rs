//! Settings of a launch.

use crate::deployment::{Assignment, Deployment};

/// Settings in force during a launch, beyond the site's own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Setup {
    /// Parameters of the library: name, value. Each must read back from the running library.
    pub parameters: Vec<(String, String)>,
    /// Environment of the ranks: name, value. Each must read back from the ranks.
    pub environment: Vec<(String, String)>,
    /// Environment of the launcher: name, value.
    pub launcher_environment: Vec<(String, String)>,
    /// Parameters that files set, which must read back although they are not passed on the command line.
    pub expected: Vec<(String, String)>,
    /// Variables that files set, which the ranks must have although they are not passed on the command line.
    pub expected_environment: Vec<(String, String)>,
    /// Parameters of the library to read back as they are, whatever they are.
    pub reads: Vec<String>,
    /// True if the job switches settings while it runs.
    pub switching: bool,
    /// Performance variables whose growth during a call is reported.
    pub counters: Vec<String>,
    /// True if the functions of the library in which ranks wait during a call are reported.
    pub call_paths: bool,
    /// True if the results of random doubles are compared, if the options ask for it.
    pub compares_bits: bool,
}

impl Setup {
    /// The launch-wide part of a deployment, passed directly.
    #[must_use]
    pub fn of(deployment: &Deployment) -> Setup {
        Setup::default().with(&deployment.assignments)
    }

    /// The same setup with further assignments, which win over the present ones. The library as well lets its command
    /// line win over files.
    #[must_use]
    pub fn with(mut self, assignments: &[Assignment]) -> Setup {
        for Assignment {
            name,
            value,
            environment,
        } in assignments
        {
            let Setup {
                parameters,
                environment: variables,
                expected,
                expected_environment,
                ..
            } = &mut self;
            for list in [parameters, variables, expected, expected_environment] {
                list.retain(|(other, _)| other != name);
            }
            let list = if *environment {
                &mut self.environment
            } else {
                &mut self.parameters
            };
            list.push((name.clone(), value.clone()));
        }
        self
    }

    /// The same setup in a job whose items report digests of random doubles, if the options ask for it.
    #[must_use]
    pub fn comparing_bits(self) -> Setup {
        Setup {
            compares_bits: true,
            ..self
        }
    }

    /// The same setup in a job that switches settings while it runs.
    #[must_use]
    pub fn switching(self) -> Setup {
        Setup {
            switching: true,
            ..self
        }
    }
}
