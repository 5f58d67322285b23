//! The sources of the locks against the lists beside them: a test names a forgotten entry, which
//! would otherwise be a missing figure or fault.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the sources.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every file below a folder: its path below the sources, and its text.
fn files(below: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(below).expect("the sources are here") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let name = path.strip_prefix(sources()).unwrap_or(&path);
            let name = name.to_str().expect("names are plain").to_owned();
            let text = fs::read_to_string(&path).expect("sources are text");
            found.push((name, text));
        }
    }
}

/// The files of locks and their helpers, without the platform layer.
fn of_locks() -> Vec<(String, String)> {
    let mut all = Vec::new();
    files(&sources(), &mut all);
    all.retain(|(name, _)| !name.starts_with("door/") && name != "catalogue.rs");
    assert!(all.len() > 40, "the sources are elsewhere: {}", all.len());
    all
}

fn catalogue() -> String {
    fs::read_to_string(sources().join("catalogue.rs")).expect("the catalogue is a file")
}

/// A source's checks are in a file of the same name.
#[test]
fn every_file_of_checks_mirrors_a_source() {
    let below = Path::new(env!("CARGO_MANIFEST_DIR")).join("checks");
    let mut checks = Vec::new();
    files(&below, &mut checks);
    for (file, _) in checks {
        let name = Path::new(&file).strip_prefix(&below).expect("it is there");
        let folder = name.with_extension("");
        assert!(
            name.ends_with("mod.rs")
                || sources().join(name).exists()
                || sources().join(folder).is_dir(),
            "checks/{} is like no file of src",
            name.display()
        );
    }
}

#[test]
fn every_pool_is_in_the_sum_of_all_pools() {
    let catalogue = catalogue();
    let (_, sum) = catalogue
        .split_once("pub fn own_pool_bytes() -> usize {")
        .expect("the sum is in the catalogue");
    let (sum, _) = sum.split_once("\n}").expect("the sum ends");
    // Programs' mutexes never use these locks, and the interposer does not contain them.
    let locks = of_locks()
        .into_iter()
        .filter(|(file, _)| !file.starts_with("delegation/") && !file.starts_with("abortable/"));
    for (file, text) in locks {
        let declares = text.lines().map(str::trim).any(|line| {
            line.starts_with("pooled_forms! {")
                || line.starts_with("tree_forms! {")
                || (line.ends_with("pool! {") && !line.starts_with("$crate"))
        });
        let module = file.trim_end_matches(".rs").replace('/', "::");
        assert!(
            !declares || sum.contains(&format!("crate::{module}::pool_bytes()")),
            "src/{file} has a pool that `cohort run --report` does not count. Add \
             crate::{module}::pool_bytes() to `own_pool_bytes` in src/catalogue.rs"
        );
    }
}

/// Each thread has a node cache for each pool. Two pools with one cache would hand out each other's
/// nodes, and overwrite each other's data.
#[test]
fn no_two_pools_share_a_cache_of_the_threads() {
    let mut all = Vec::new();
    for part in ["src", "../cohort-service/src", "../cohort-preload/src"] {
        let below = Path::new(env!("CARGO_MANIFEST_DIR")).join(part);
        if below.is_dir() {
            files(&below, &mut all);
        }
    }
    let constant = |name: &str| {
        let declared = format!("const {name}: usize = ");
        let mut values = all
            .iter()
            .filter_map(|(_, text)| text.split_once(&declared));
        let (_, value) = values
            .next_back()
            .unwrap_or_else(|| panic!("{name} is a constant"));
        value.split(';').next().expect("a value").to_owned()
    };
    let mut pools: Vec<(usize, &str)> = Vec::new();
    let declarations = all.iter().flat_map(|(_, text)| text.lines());
    for line in declarations.filter(|line| line.contains("static ")) {
        let Some((pool, cache)) = line.trim().rsplit_once(", cache ") else {
            continue;
        };
        if cache.contains('$') {
            // The macro's own definition.
            continue;
        }
        let cache = cache.trim_end_matches(");");
        let number = cache.parse().or_else(|_| constant(cache).parse());
        pools.push((number.expect("the cache is a number"), pool));
    }
    for line in all.iter().flat_map(|(_, text)| text.lines()) {
        let Some(forms) = line.trim().strip_prefix("pooled_forms! {") else {
            continue;
        };
        for (_, after) in forms
            .match_indices("[cache ")
            .map(|(at, cache)| forms.split_at(at + cache.len()))
        {
            let (number, _) = after.split_once(']').expect("the bracket closes");
            pools.push((number.parse().expect("the cache is a number"), line));
        }
    }
    // Pools of other packages, which do not have the macro.
    for (path, text) in &all {
        if !path.contains("cohort-service") {
            continue;
        }
        for made in ["Arena::new(", "Table::new("] {
            for (before, after) in text.match_indices(made).map(|(at, _)| text.split_at(at)) {
                let digits = after[made.len()..].split(|letter: char| !letter.is_ascii_digit());
                let number = digits.map(str::parse).next();
                let Some(Ok(number)) = number else { continue };
                let name = before
                    .rsplit_once("static ")
                    .map_or(before, |(_, name)| name);
                pools.push((number, name.split(':').next().unwrap_or(name)));
            }
        }
    }
    assert!(
        pools.len() >= 15,
        "the declarations look otherwise: {pools:?}"
    );
    pools.sort_unstable();
    for pair in pools.windows(2) {
        // The holdings of all locks share a cache: a process has one kind.
        assert!(
            pair[0].0 != pair[1].0,
            "{pair:?} share a cache of the threads"
        );
    }
}

/// Files with the public interface, except the locks', which the catalogue covers.
const USED: [&str; 28] = [
    "sync/mutex.rs",
    "sync/condvar.rs",
    "sync/once.rs",
    "sync/once_lock.rs",
    "sync/lazy_lock.rs",
    "sync/barrier.rs",
    "sync/semaphore.rs",
    "sync/fair.rs",
    "sync/reentrant.rs",
    "sync/token.rs",
    "sync/delegated.rs",
    "sync/posting.rs",
    "sync/waking.rs",
    "catalogue.rs",
    "sync/rwlock/mod.rs",
    "rwlock/raw.rs",
    "sync/rwlock/mapped.rs",
    "sync/rwlock/upgradable.rs",
    "sync/interop/any.rs",
    "sync/interop/arc.rs",
    "sync/interop/instant.rs",
    "sync/interop/compat/parking_lot.rs",
    "sync/interop/compat/parking_lot_013.rs",
    "../../cohort-service/src/gls.rs",
    "../../cohort-raw/src/lib.rs",
    "../../cohort-raw/src/delegate.rs",
    "../../cohort-raw/src/patience.rs",
    "../../cohort-raw/src/shared.rs",
];

/// The public functions and types of a file, each with its documentation.
fn documented(text: &str) -> Vec<(&str, String)> {
    const KINDS: [&str; 6] = [
        "fn ",
        "struct ",
        "enum ",
        "trait ",
        "type ",
        "macro_rules! ",
    ];
    let (mut found, mut about) = (Vec::new(), String::new());
    for line in text.lines().map(str::trim) {
        if let Some(said) = line.strip_prefix("///") {
            about += said;
            about += "\n";
            continue;
        }
        let public = line.strip_prefix("pub ").unwrap_or_default();
        let public = ["const ", "unsafe "]
            .iter()
            .fold(public, |rest, word| rest.strip_prefix(word).unwrap_or(rest));
        if let Some(name) = KINDS.iter().find_map(|kind| public.strip_prefix(kind)) {
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
            found.push((&name[..end.unwrap_or(name.len())], about.clone()));
        }
        // Attributes are between the documentation and the item.
        if line.is_empty() || line.ends_with(['{', '}', ';']) {
            about.clear();
        }
    }
    found
}

/// Every public item has an example to try.
#[test]
fn everything_that_programs_call_has_an_example() {
    for file in USED {
        let text = fs::read_to_string(sources().join(file)).expect("the file is here");
        let examples: String = text.split("```").skip(1).step_by(2).collect();
        let items = documented(&text);
        assert!(items.len() > 2, "{file} looks otherwise: {items:?}");
        for (name, about) in items {
            // An alias of another crate's type may share its kind's example.
            let is_used = examples.split(|c: char| !c.is_alphanumeric() && c != '_');
            let is_alias = text.contains(&format!("pub type {name}<"));
            assert!(
                about.contains("```") || is_alias && is_used.into_iter().any(|word| word == name),
                "{file}: what is said of `{name}` has no example"
            );
        }
    }
}

/// The page of a lock shows how a program uses it.
#[test]
fn every_lock_has_an_example() {
    let locks = of_locks();
    let catalogue = catalogue();
    let mut rows = 0;
    for row in catalogue.lines().map(str::trim) {
        let Some((_, path)) = row.split_once(", $crate::") else {
            continue;
        };
        let path = path.split([',', '<']).next().unwrap_or(path);
        let (room, name) = path.split_once("::").expect("a room and a type");
        let has_example = locks.iter().any(|(file, text)| {
            let mut items = documented(text).into_iter();
            file.starts_with(room)
                && items.any(|(item, about)| item == name && about.contains("```"))
        });
        assert!(has_example, "what is said of {path} has no example");
        rows += 1;
    }
    assert!(rows > 60, "the catalogue has another form: {rows} rows");
}

/// The commit, the file and the test of a line of the page of bugs.
fn bug(line: &str) -> Option<(&str, &str, &str)> {
    let (commit, line) = line.strip_prefix("- ")?.split_once(' ')?;
    let (file, line) = line.split_once(" `")?;
    let (test, _) = line.split_once("`: ")?;
    Some((commit, file, test))
}

/// The page of bugs names the regression test of each.
#[test]
fn every_bug_has_a_test_that_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/regressions.md")).expect("the page is here");
    let mut bugs = 0;
    let with_tests = page.split("## Without a test").next().unwrap_or_default();
    for line in with_tests
        .lines()
        .filter(|line| line.starts_with(['-', '|']))
    {
        let (commit, file, test) =
            bug(line).unwrap_or_else(|| panic!("`- COMMIT FILE `TEST`: BUG` is wanted: {line}"));
        let is_commit = commit.len() == 7 && commit.chars().all(|digit| digit.is_ascii_hexdigit());
        assert!(is_commit, "a bug goes by a commit: {line}");
        let text = fs::read_to_string(root.join(file))
            .unwrap_or_else(|error| panic!("{file} cannot be read: {error}: {line}"));
        assert!(text.contains(test), "{file} has no {test}");
        bugs += 1;
    }
    assert!(bugs > 30, "the page has another form: {bugs} bugs");
}

/// Words of foreign English, and the most of each in a thousand lines of comments and pages.
const RARE: [(&str, f64); 5] = [
    ("nobody", 1.0),
    ("somebody", 0.5),
    ("one that", 1.0),
    ("those that", 1.0),
    ("of which", 1.0),
];

/// Every line of comments below a folder, in lower case.  Links lead to other packages' files.
fn comments(below: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(below).expect("the sources are here") {
        let path = entry.expect("the folder can be read").path();
        if path.is_symlink() || path.ends_with("target") {
            continue;
        }
        if path.is_dir() {
            comments(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).expect("sources are text");
            let lines = text.lines().map(str::trim_start);
            found.extend(lines.filter_map(|line| Some(line.strip_prefix("//")?.to_lowercase())));
        }
    }
}

/// How often `text` has `words` as whole words.
fn occurrences(text: &str, words: &str) -> usize {
    let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let places = text.match_indices(words);
    let is_whole = |(at, _): &(usize, &str)| {
        !is_letter(text[..*at].chars().next_back())
            && !is_letter(text[at + words.len()..].chars().next())
    };
    places.filter(is_whole).count()
}

#[test]
fn comments_and_pages_are_in_the_words_of_the_field() {
    let mut lines = Vec::new();
    comments(&sources().join("../.."), &mut lines);
    for (_, page) in pages() {
        lines.extend(page.lines().map(str::to_lowercase));
    }
    assert!(lines.len() > 20_000, "{} lines of comments", lines.len());
    for (words, most) in RARE {
        let count: usize = lines.iter().map(|line| occurrences(line, words)).sum();
        let share = count as f64 * 1000.0 / lines.len() as f64;
        assert!(share <= most, "`{words}`: {share:.2} in a thousand lines");
    }
}

/// The pages for readers: README and docs.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let below = fs::read_dir(root.join("docs")).expect("the folder is here");
    let paths = below.map(|entry| entry.expect("the folder can be read").path());
    let mut all: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    all.push(root.join("README.md"));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("pages are text");
        (path.display().to_string(), text)
    };
    all.into_iter().map(read).collect()
}

#[test]
fn the_pages_are_short() {
    let words = |text: &str| text.split_whitespace().count();
    let mut all = 0;
    for (path, text) in pages() {
        let is_readme = path.ends_with("README.md");
        assert!(!is_readme || words(&text) <= 900, "{} words", words(&text));
        all += words(&text);
    }
    assert!((5_000..=25_000).contains(&all), "{all} words");
}

#[test]
fn the_cells_of_tables_are_short() {
    let mut cells = 0;
    for (path, text) in pages() {
        let rows = text.lines().filter_map(|line| line.strip_prefix('|'));
        for cell in rows.flat_map(|row| row.split('|')) {
            let length = cell.trim().chars().count();
            assert!(length <= 200, "{path}: {length} characters: {cell}");
            cells += 1;
        }
    }
    assert!(cells > 500, "{cells} cells");
}
