//! The meanings of macros that several C files use.

use super::names::{declared, function_name};
use super::source::{File, all_words, everything};
use std::collections::{HashMap, HashSet};
use tree_sitter::Node;

/// Words for thread-local storage.
const OF_THREAD: [&str; 3] = ["__thread", "_Thread_local", "thread_local"];

/// Finds the meanings of macros that other files use too.
pub fn name_macros(files: &mut [File]) {
    name_aliases(files);
    let mut of_thread: HashSet<String> = OF_THREAD.map(str::to_owned).into();
    loop {
        let known = of_thread.len();
        for file in &*files {
            for node in everything(file.root()) {
                let is_macro = matches!(node.kind(), "preproc_def" | "preproc_function_def");
                let part = |name: &str| node.child_by_field_name(name).filter(|_| is_macro);
                if let (Some(name), Some(body)) = (part("name"), part("value"))
                    && all_words(file.text(body)).any(|word| of_thread.contains(word))
                {
                    of_thread.insert(file.text(name).to_owned());
                }
            }
        }
        if of_thread.len() == known {
            break;
        }
    }
    for file in files {
        file.of_thread.clone_from(&of_thread);
    }
}

/// Finds macros that rename functions of mutexes and conditions, such as `#define lock(of)
/// pthread_mutex_lock(of)`, in any file.
fn name_aliases(files: &mut [File]) {
    let mut found: HashMap<String, Option<String>> = HashMap::new();
    for file in &*files {
        for node in everything(file.root()) {
            // The macro may be undefined where a function of that name is called.
            for name in could_be_called(file, node) {
                found.insert(name.to_owned(), None);
            }
            if !matches!(node.kind(), "preproc_def" | "preproc_function_def") {
                continue;
            }
            let part = |name: &str| node.child_by_field_name(name);
            let Some(name) = part("name") else { continue };
            let body = part("value").map_or_else(String::new, |body| file.words(body));
            let given = part("parameters").map_or_else(String::new, |list| file.words(list));
            let body = body.trim_end_matches(';');
            let function = body.strip_suffix(given.as_str()).unwrap_or_default();
            let is_one = (function.starts_with("pthread_mutex_")
                || function.starts_with("pthread_cond_"))
                && function
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            let function = is_one.then(|| function.to_owned());
            // With different meanings in two files, it is an ordinary macro.
            found
                .entry(file.text(name).to_owned())
                .and_modify(|known| {
                    if *known != function {
                        *known = None;
                    }
                })
                .or_insert(function);
        }
    }
    let known = found.into_iter().filter_map(|(name, of)| Some((name, of?)));
    let known: HashMap<String, String> = known.collect();
    for file in files {
        file.aliases.clone_from(&known);
    }
}

/// The callable names that a node declares.
fn could_be_called<'p>(file: &'p File, node: Node<'p>) -> Vec<&'p str> {
    match node.kind() {
        "function_definition" => vec![function_name(file, node)],
        "declaration" | "parameter_declaration" => {
            let of_type = node.child_by_field_name("type").map(|part| part.kind());
            let is_plain = of_type.is_some_and(|kind| {
                matches!(kind, "primitive_type" | "sized_type_specifier")
                    || kind.ends_with("_specifier")
            });
            let mut all = declared(node);
            all.retain(|one| {
                let mut parts = everything(one.declarator).into_iter();
                !is_plain || parts.any(|part| part.kind() == "function_declarator")
            });
            all.iter().map(|one| file.text(one.name)).collect()
        }
        _ => Vec::new(),
    }
}
