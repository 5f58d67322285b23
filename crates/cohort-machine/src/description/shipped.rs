//! The machines that are shipped.

use super::machine::Machine;

/// A shipped file.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// The machine's name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// Embeds the files of these machines.
macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        /// Every shipped file, in the order of the papers.
        pub const MACHINES: &[Shipped] = &[$(Shipped {
            name: $name,
            text: include_str!(concat!("../machines/", $name, ".toml")),
        }),*];
    };
}

shipped! {
    "kunpeng-920x2",
}

/// The shipped machine called `name`.
///
/// # Panics
/// Never: each shipped file is read by a test.
#[must_use]
pub fn find(name: &str) -> Option<Machine> {
    let file = MACHINES.iter().find(|file| file.name == name)?;
    Some(Machine::parse(file.text).expect("a shipped file is sound"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_file_is_sound_and_named_after_its_machine() {
        for file in MACHINES {
            match Machine::parse(file.text) {
                Ok(machine) => assert_eq!(machine.name, file.name),
                Err(complaint) => panic!("{}.toml:{complaint}", file.name),
            }
        }
    }
}
