//! The subject of a comparison: a program, or a server with its client; with values for parameters.

use super::Arguments;
use crate::problem::Problem;
use cohort_measure::runner::{Address, PORT, Ready};
use std::ffi::{OsStr, OsString};

/// Options for a server, in place of a program.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Served {
    /// Measure a server: CMD runs in the foreground, without a shell; `{port}` is
    /// replaced by a free port
    #[arg(long, value_name = "CMD", requires = "client", group = "subject")]
    pub server: Option<String>,
    /// Wait for the server at this port, HOST:PORT or Unix socket
    /// [default: {port}]
    #[arg(
        long,
        value_name = "PORT",
        requires = "server",
        allow_hyphen_values = true
    )]
    ready: Option<String>,
    /// Measure the server with this shell command, run under the C library's
    /// locks; the server ends with it
    #[arg(long, value_name = "CMD", requires = "server")]
    client: Option<OsString>,
}

impl Served {
    /// The server with its client, or else a program.
    pub fn or(&self, command: &[OsString]) -> Result<Subject, Problem> {
        let mut subject = Subject::of(command);
        let Some(server) = &self.server else {
            return Ok(subject);
        };
        let words = shlex::split(server).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| {
            Problem::usage(format!(
                "--server: `{server}` is not a valid command; check its quotes"
            ))
        })?;
        subject.words = words.into_iter().map(OsString::from).collect();
        let ready = match &self.ready {
            Some(ready) => ready,
            None if server.contains(PORT) => PORT,
            None => {
                return Err(Problem::usage(format!(
                    "--server: write {PORT} in place of the port, or give the port or socket with \
                     --ready"
                )));
            }
        };
        let ready = Ready::parse(ready).map_err(|why| Problem::usage(format!("--ready: {why}")))?;
        let client = self.client.clone().unwrap_or_default();
        subject.client = Some((client, ready));
        Ok(subject)
    }
}

/// Program with its accessories.
#[derive(Clone)]
pub struct Subject {
    /// The program under each lock, and its arguments.
    pub words: Vec<OsString>,
    /// The client of a server, for the shell, and the server's address.
    pub client: Option<(OsString, Ready)>,
    /// Commands before each run, once before all, and once after all; for the shell.
    pub prepare: Option<OsString>,
    pub setup: Option<OsString>,
    pub cleanup: Option<OsString>,
    /// The parameters, with their values.
    pub parameters: Vec<(String, String)>,
}

impl Subject {
    /// A subject for each combination of the parameters' values.
    pub fn all(arguments: &Arguments) -> Result<Vec<Self>, Problem> {
        let subject = Self::new(arguments)?;
        let mut all = vec![subject];
        for pair in arguments.parameter_list.chunks(2) {
            let [name, values] = pair else {
                continue;
            };
            let with = |subject: &Self| -> Vec<Self> {
                let values = values.split(',');
                values.map(|value| subject.with(name, value)).collect()
            };
            if !all[0].mentions(name) {
                return Err(Problem::usage(format!(
                    "-L {name}: no command contains `{{{name}}}`"
                )));
            }
            all = all.iter().flat_map(with).collect();
        }
        Ok(all)
    }

    /// A program that ends by itself.
    pub fn of(command: &[OsString]) -> Self {
        Self {
            words: command.to_vec(),
            client: None,
            prepare: None,
            setup: None,
            cleanup: None,
            parameters: Vec::new(),
        }
    }

    fn new(arguments: &Arguments) -> Result<Self, Problem> {
        Ok(Self {
            prepare: arguments.prepare.clone(),
            setup: arguments.setup.clone(),
            cleanup: arguments.cleanup.clone(),
            ..arguments.served.or(&arguments.command)?
        })
    }

    /// Whether a parameter is in one of the commands.
    fn mentions(&self, name: &str) -> bool {
        let text = format!("{{{name}}}");
        self.texts()
            .any(|word| word.to_string_lossy().contains(&text))
    }

    fn texts(&self) -> impl Iterator<Item = &OsString> {
        let client = self.client.iter().map(|(text, _)| text);
        let others = [&self.prepare, &self.setup, &self.cleanup];
        let others = others.into_iter().flatten();
        self.words.iter().chain(client).chain(others)
    }

    /// The subject with a value in place of a parameter's name.
    fn with(&self, name: &str, value: &str) -> Self {
        let put = |word: &OsString| put(word, name, value);
        let mut parameters = self.parameters.clone();
        parameters.push((name.to_owned(), value.to_owned()));
        Self {
            words: self.words.iter().map(put).collect(),
            client: self
                .client
                .as_ref()
                .map(|(text, ready)| (put(text), ready.clone())),
            prepare: self.prepare.as_ref().map(put),
            setup: self.setup.as_ref().map(put),
            cleanup: self.cleanup.as_ref().map(put),
            parameters,
        }
    }

    /// The parameters in words, as a title.
    pub fn title(&self) -> String {
        let parameters = self.parameters.iter();
        let parts: Vec<String> = parameters
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        parts.join(", ")
    }
}

fn put(word: &OsStr, name: &str, value: &str) -> OsString {
    match word.to_str() {
        Some(text) => text.replace(&format!("{{{name}}}"), value).into(),
        None => word.to_owned(),
    }
}

/// Known server: its name, its port option, and a client with the figure in its output.
struct Known {
    server: &'static str,
    port: &'static str,
    client: &'static str,
    metric: &'static str,
}

const KNOWN: [Known; 4] = [
    Known {
        server: "memcached",
        port: "-p {port}",
        client: "memcaslap -s 127.0.0.1:{port} -t 3s",
        metric: "tps='TPS: ([0-9]+)'",
    },
    Known {
        server: "redis-server",
        port: "--port {port}",
        client: "redis-benchmark -p {port} -t set -q",
        metric: "rps='([0-9.]+) requests per second'",
    },
    Known {
        server: "valkey-server",
        port: "--port {port}",
        client: "valkey-benchmark -p {port} -t set -q",
        metric: "rps='([0-9.]+) requests per second'",
    },
    Known {
        server: "postgres",
        port: "-p {port}",
        client: "pgbench -h 127.0.0.1 -p {port} -T 5 postgres",
        metric: "tps='tps = ([0-9.]+)'",
    },
];

/// The command line of `subcommand` to suggest for a program that turned out to be a server.
pub fn line_for_server(subcommand: &str, words: &[OsString], listens: &[Address]) -> String {
    let file = std::path::Path::new(&words[0]).file_name();
    let known = KNOWN
        .iter()
        .find(|known| file.is_some_and(|file| file == known.server));
    let mut words: Vec<String> = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let mut ready = PORT.to_owned();
    match listens.first() {
        Some(Address::Port(port)) => {
            let port = port.to_string();
            let has_port = words[1..].iter().any(|word| word.contains(&port));
            match known {
                _ if has_port => {
                    for word in &mut words[1..] {
                        *word = word.replace(&port, PORT);
                    }
                }
                Some(known) => words.extend(known.port.split(' ').map(str::to_owned)),
                None => ready = port,
            }
        }
        Some(Address::Socket(path)) => ready.clone_from(path),
        None => {}
    }
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let client = known.map_or("CLIENT", |known| known.client);
    let metric = known.map_or("NAME='REGEX'", |known| known.metric);
    let explained = match known {
        Some(_) => "",
        None => "\nCLIENT measures the server; REGEX matches the figure in its output",
    };
    format!(
        "cohort {subcommand} --server '{}' --ready {ready} \\\n      --client '{client}' --metric \
         {metric}{explained}",
        quoted.join(" ")
    )
}

/// A word within single quotes: with {port} unquoted.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "{}_-./:=,@%+".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("\"{}\"", word.replace(['"', '\''], "?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str], port: u16) -> String {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        line_for_server("compare", &words, &[Address::Port(port)])
    }

    #[test]
    fn a_server_is_answered_with_the_line_to_type() {
        let known = line(&["/usr/bin/memcached", "-p", "4711"], 4711);
        assert!(
            known.contains("'/usr/bin/memcached -p {port}' --ready {port}"),
            "{known}"
        );
        assert!(known.contains("memcaslap"), "{known}");
        let bare = line(&["memcached"], 11211);
        assert!(
            bare.contains("'memcached -p {port}' --ready {port}"),
            "{bare}"
        );
        let other = line(&["mine", "a b"], 80);
        assert!(other.contains("'mine \"a b\"' --ready 80 "), "{other}");
        assert!(other.contains("CLIENT measures"), "{other}");
    }
}
