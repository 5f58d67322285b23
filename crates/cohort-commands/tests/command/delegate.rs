//! `cohort delegate`: outlined critical sections in C, and their behaviour.

use crate::{cohort, compiled};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A program in C, in a folder of its own.
fn program(text: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("a.c"), text).expect("the folder is writable");
    folder
}

/// Results for the mutexes and critical sections of a program: name, result, reason.
fn became(text: &str) -> Vec<(String, String, String)> {
    became_by(&[], text)
}

/// The results with options.
fn became_by(options: &[&str], text: &str) -> Vec<(String, String, String)> {
    let folder = program(&format!("#include <pthread.h>\n{text}"));
    let output = cohort()
        .args(["delegate", "--json", "a.c"])
        .args(options)
        .current_dir(folder.path())
        .assert()
        .code(0);
    let sheet: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    let rows = sheet["rows"].as_array().expect("a list").clone();
    let word = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    rows.iter()
        .map(|row| (word(row, "name"), word(row, "becomes"), word(row, "reason")))
        .collect()
}

const MUTEX: &str = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\nstatic int x;\n";
const PLAIN: &str = "void plain(void) {\n\
    pthread_mutex_lock(&m);\n  x++;\n  pthread_mutex_unlock(&m);\n}\n";

/// The origin is a line to type, under either name of the command.
#[test]
fn the_origin_names_the_subcommand() {
    let folder = program(&format!("#include <pthread.h>\n{MUTEX}{PLAIN}"));
    let cohort = std::path::Path::new(crate::command());
    let own = cohort.with_file_name("cohort-delegate");
    let words = ["delegate", "--json", "a.c"];
    for (command, words) in [(cohort, &words[..]), (&own, &words[1..])] {
        let output = std::process::Command::new(command)
            .args(words)
            .current_dir(folder.path())
            .output()
            .expect("it runs");
        let sheet: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let expected = ["cohort", "delegate", "--json", "a.c"];
        assert_eq!(sheet["origin"]["command"], serde_json::json!(expected));
    }
}

/// The reason why the critical section of `what` stays in place, beside an outlined one.
fn why_in_place(what: &str) -> String {
    let rows = became(&format!("{MUTEX}{PLAIN}{what}"));
    let mut reasons = rows.iter().filter(|(_, becomes, _)| becomes == "in place");
    let reason = reasons.next().map(|(_, _, reason)| reason.clone());
    reason.unwrap_or_else(|| panic!("{what}: {rows:?}"))
}

#[test]
fn what_cannot_be_a_function_locks_in_place_and_says_why() {
    let section = |inside: &str| {
        why_in_place(&format!(
            "int f(int a) {{\n  pthread_mutex_lock(&m);\n  {inside}\n  pthread_mutex_unlock(&m);\n  \
             return a;\n}}\n"
        ))
    };
    for (inside, why) in [
        ("if (x) return 1;", "is left by `return` (line 11)"),
        ("if (x) goto out; out:;", "is left by `goto`"),
        ("out: x++;", "contains a label"),
        (
            "x = pthread_self() == 0;",
            "calls pthread_self(), which depends on",
        ),
        ("x = *(int *)pthread_getspecific(1);", "thread-local"),
        (
            "pthread_join(0, 0);",
            "which may wait for the executing thread",
        ),
        (
            "a = unheard_of(1);",
            "calls unheard_of(), which is in none of these files",
        ),
        ("a = f(1);", "names its own function, f"),
        ("int *p = alloca(1); *p = 1;", "which uses the stack frame"),
        ("int (*g)(void) = 0; g();", "calls through the pointer g"),
        (
            "x = __func__[0];",
            "depends on its function's name by __func__",
        ),
        (
            "pthread_mutex_t *o = 0; pthread_mutex_lock(o);",
            "locks o, which may be recursive",
        ),
        ("#ifdef A\n  x++;\n#endif", "contains a `#ifdef`"),
        ("__asm__ volatile(\"\");", "contains assembly"),
        (
            "if (a) { pthread_mutex_unlock(&m); return 1; }",
            "is left in more than one place",
        ),
        ("/* nothing */", "is empty"),
        (
            "if (x) __builtin_longjmp(0, 1);",
            "calls __builtin_longjmp(), which does not return normally",
        ),
        (
            "x = __builtin_unheard_of(x);",
            "calls __builtin_unheard_of(), which is in none of these files",
        ),
    ] {
        let said = section(inside);
        assert!(said.contains(why), "{inside}: {said}");
    }
    for (what, why) in [
        (
            "void f(int n) { int v[n]; pthread_mutex_lock(&m); v[0] = x; pthread_mutex_unlock(&m); }",
            "uses v, of variable size",
        ),
        (
            "void f(void) { struct { int a; } s; pthread_mutex_lock(&m); s.a = x; \
             pthread_mutex_unlock(&m); }",
            "uses s, of an unnamed type",
        ),
        (
            "void f(void) { struct t { int a; }; pthread_mutex_lock(&m); struct t s = { x }; x = s.a; \
             pthread_mutex_unlock(&m); }",
            "uses t, a local type of its function",
        ),
        (
            "static __thread int own; static void g(void) { own++; }\n\
             void f(void) { pthread_mutex_lock(&m); g(); pthread_mutex_unlock(&m); }",
            "calls g(), which uses own, which is thread-local",
        ),
        (
            "#define HIDDEN static __thread int\n#define OWN HIDDEN\nOWN own;\n\
             void f(void) { pthread_mutex_lock(&m); own = x; pthread_mutex_unlock(&m); }",
            "uses own, which is thread-local",
        ),
        (
            "#define OWN(many, of) static __thread int of\n#ifdef X\nOWN(2, own);\n#endif\n\
             void f(void) { pthread_mutex_lock(&m); own = x; pthread_mutex_unlock(&m); }",
            "uses own, declared in unparsable text",
        ),
        (
            "void f(int i) { while (i--) { pthread_mutex_lock(&m); if (x) break; \
             pthread_mutex_unlock(&m); } }",
            "is left by `break`",
        ),
        (
            "void f(int i) { if (i) pthread_mutex_lock(&m); x++; if (i) pthread_mutex_unlock(&m); }",
            "does not begin as a statement of a block",
        ),
        (
            "static pthread_mutex_t o[2];\nvoid f(int i) { pthread_mutex_lock(&o[i]); x++; \
             pthread_mutex_unlock(&o[i]); }\nvoid g(int i) { pthread_mutex_lock(&m); \
             pthread_mutex_lock(&o[i]); x++; pthread_mutex_unlock(&m); pthread_mutex_unlock(&o[i]); }",
            "is not properly nested",
        ),
        (
            "void f(va_list ap) { pthread_mutex_lock(&m); x = vprintf(\"%d\", ap); \
             pthread_mutex_unlock(&m); }",
            "uses ap, a parameter of the array type va_list",
        ),
        (
            "typedef int row[4];\ntypedef row line;\n\
             void f(line l) { pthread_mutex_lock(&m); x = l[0]; pthread_mutex_unlock(&m); }",
            "uses l, a parameter of the array type line",
        ),
        (
            "void f(void) { double g(double); pthread_mutex_lock(&m); x = g(x); \
             pthread_mutex_unlock(&m); }\ndouble g(double a) { return a; }",
            "uses g, a nested function",
        ),
    ] {
        let said = why_in_place(what);
        assert!(said.contains(why), "{what}: {said}");
    }
}

/// The outlined function precedes its function, where a macro may have another meaning.
#[test]
fn a_macro_that_a_function_changes_before_a_section_is_not_used_above_it() {
    let text = |before: &str, section: &str| {
        format!(
            "#define LIMIT 10\n#define TWICE (2 * LIMIT)\nvoid f(void) {{\n{before}\n  \
             pthread_mutex_lock(&m);\n  {section}\n  pthread_mutex_unlock(&m);\n}}\n"
        )
    };
    let anew = "#undef LIMIT\n#define LIMIT 20";
    for (before, section, why) in [
        (
            anew,
            "x = LIMIT;",
            "uses the macro LIMIT, redefined in its function in line 13",
        ),
        (
            anew,
            "x = TWICE;",
            "uses the macro TWICE (by LIMIT), redefined in its function in line 13",
        ),
        (
            "#define FIRST 1",
            "x = FIRST;",
            "uses the macro FIRST, redefined in its function in line 12",
        ),
        (
            "#define SIZE 4\n  int v[SIZE];",
            "v[0] = x;",
            "uses v: its declaration uses the macro SIZE",
        ),
        (
            "#include \"limits.inc\"",
            "x = LIMIT;",
            "follows an `#include` in its function, in line 12",
        ),
    ] {
        let said = why_in_place(&text(before, section));
        assert!(said.contains(why), "{before} {section}: {said}");
    }
    // Macros not used there may change, and so may macros before their use.
    for (before, section) in [
        (anew, "x++; /* LIMIT */"),
        ("int a = LIMIT;", "x = LIMIT + a;"),
    ] {
        let text = format!("{MUTEX}{}", text(before, section));
        let (rows, folder) = converted_by(&[], &text);
        let is_function = rows.iter().any(|(_, becomes, _)| becomes == "function");
        assert!(is_function, "{before} {section}: {rows:?}");
        assert_eq!(compiled(&folder, &[]), Ok(()), "{before} {section}");
    }
}

/// An array that is not a parameter is passed by address, and compile-time computations are
/// repeated there.
#[test]
fn an_array_by_another_name_is_handed_over() {
    let text = "typedef int row[4];\n\
                void f(row *all) { row l; pthread_mutex_lock(&m); l[0] = __builtin_popcount(x); \
                all[0][1] = x; pthread_mutex_unlock(&m); x = l[0]; }\n";
    let (rows, folder) = converted_by(&[], &format!("{MUTEX}{text}"));
    let is_function = rows.iter().any(|(_, becomes, _)| becomes == "function");
    assert!(is_function, "{rows:?}");
    assert_eq!(compiled(&folder, &[]), Ok(()));
}

#[test]
fn what_could_be_locked_elsewhere_is_left_alone() {
    let section = "void f(void) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); }\n";
    for (declares, uses, why) in [
        (
            "static pthread_mutex_t m;",
            "void *g(void) { return &m; }",
            "has its address taken",
        ),
        (
            "static pthread_mutex_t m;",
            "void h(void *); void g(void) { h(&m); }",
            "passed to h()",
        ),
        (
            "static pthread_mutex_t m;",
            "int g(void) { return pthread_mutex_trylock(&m); }",
            "is passed to pthread_mutex_trylock()",
        ),
        (
            "static pthread_mutex_t m;",
            "void g(pthread_mutexattr_t *a) { pthread_mutex_init(&m, a); }",
            "is initialised with attributes",
        ),
        (
            "static pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;",
            "",
            "has an unknown initialiser",
        ),
        (
            "extern pthread_mutex_t m;",
            "",
            "is defined in another file",
        ),
        (
            "static pthread_mutex_t m;\n#define M (&m)",
            "",
            "is named by the macro M",
        ),
        (
            "#define pthread_mutex_unlock(of) (x++, 0)\nstatic pthread_mutex_t m;",
            "",
            "pthread_mutex_unlock redefined as a macro",
        ),
        (
            "static pthread_mutex_t m, n;",
            "void *g(void) { return &n; }",
            "is declared together with the unconverted n",
        ),
        (
            "static pthread_mutex_t m;\nstatic pthread_cond_t c;",
            "void *h(void) { return &c; }\nvoid g(void) { pthread_cond_wait(&c, &m); }",
            "is used with an unconverted condition",
        ),
    ] {
        let text = format!("{declares}\nstatic int x;\n{section}{uses}\n");
        let rows = became(&text);
        let row = rows.iter().find(|(name, ..)| name == "m");
        let (_, becomes, reason) = row.expect("the mutex is listed");
        assert_eq!(becomes, "left alone", "{text}: {rows:?}");
        assert!(reason.contains(why), "{text}: {reason}");
        let is_untouched = rows
            .iter()
            .all(|(name, becomes, _)| name != "m" || becomes == "left alone");
        assert!(is_untouched, "{rows:?}");
    }
}

/// Two structures; the second's mutex cannot be converted.
const TWO: &str = "struct one { int a; pthread_mutex_t lock; };\n\
    typedef struct { struct { struct one *one; } inner; pthread_mutex_t lock; } two;\n\
    static two all[3];\n\
    two *get(void);\n\
    int g(two *t) { return pthread_mutex_trylock(&t->lock); }\n";

#[test]
fn fields_of_one_name_are_told_apart_by_their_structures() {
    let section = |of: &str| {
        format!(
            "{TWO}void f(int i, two *t) {{ pthread_mutex_lock(&{of}->lock); (void)t; \
             {of}->a++; pthread_mutex_unlock(&{of}->lock); }}\n"
        )
    };
    let of = |rows: &[(String, String, String)]| {
        let rows = rows.iter().filter(|(name, ..)| name == "lock");
        rows.map(|(_, becomes, _)| becomes.clone())
            .collect::<Vec<_>>()
    };
    for known in [
        "all[i].inner.one",
        "t->inner.one",
        "(*t).inner.one",
        "((two *)t)->inner.one",
    ] {
        let rows = became(&section(known));
        assert_eq!(
            of(&rows),
            ["converted", "left alone", "function"],
            "{known}: {rows:?}"
        );
    }
    // If a field's structure is unknown, all fields of that name are one object.
    let rows = became(&format!(
        "{}int h(void *p) {{ return elsewhere(p)->lock; }}\n",
        section("t->inner.one")
    ));
    assert_eq!(of(&rows), ["left alone"], "{rows:?}");
}

/// Words before a function may be its specifiers, and do not apply to another one.
#[test]
fn a_word_that_is_not_understood_stays_before_its_function() {
    for words in [
        "KIND OTHER",
        "KIND(\"a\")",
        "KIND OTHER /* c */",
        "KIND(\"a\")\n",
    ] {
        let section = format!("/* It counts. */\n{words} {}", PLAIN.trim_start());
        let text = format!("{MUTEX}{section}");
        let (rows, folder) = converted_by(&["--leave-unparsed"], &text);
        let is_function = rows.iter().any(|(_, becomes, _)| becomes == "function");
        assert!(is_function, "{words}: {rows:?}");
        let made = std::fs::read_to_string(folder.path().join("out/a.c")).expect("it was written");
        assert!(
            made.contains(&format!("/* It counts. */\n{words} void plain")),
            "{made}"
        );
    }
}

/// A nested field's initialiser: not for the outer structure's field of the same name.
#[test]
fn a_field_of_a_field_is_of_the_inner_structure() {
    let text = |value: &str| {
        format!(
            "struct inner {{ int x; pthread_mutex_t lock; }};\n\
             struct outer {{ pthread_mutex_t lock; struct inner inner; }};\n\
             static struct outer o = {{ .inner.x = 1, .inner.lock = {value} }};\n\
             int g(void) {{ return pthread_mutex_trylock(&o.lock); }}\n\
             void f(void) {{ pthread_mutex_lock(&o.inner.lock); o.inner.x++; \
             pthread_mutex_unlock(&o.inner.lock); }}\n"
        )
    };
    let (rows, folder) = converted_by(&[], &text("PTHREAD_MUTEX_INITIALIZER"));
    let becomes: Vec<&str> = rows.iter().map(|row| &*row.1).collect();
    assert_eq!(becomes, ["converted", "left alone", "function"], "{rows:?}");
    assert_eq!(compiled(&folder, &[]), Ok(()));
    let made = std::fs::read_to_string(folder.path().join("out/a.c")).expect("it was written");
    assert!(made.contains(".inner.lock = NULL"), "{made}");
    let rows = became(&text("PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP"));
    assert!(rows[0].2.contains("has an unknown initialiser"), "{rows:?}");
}

#[test]
fn a_macro_that_is_another_name_of_locking_locks() {
    let text = "#define take(of) pthread_mutex_lock(of)\n#define drop_ pthread_mutex_unlock\n\
                #define odd(of) pthread_mutex_trylock((of))\n\
                static pthread_mutex_t m, n;\nstatic int x;\n\
                void f(void) { take(&m); x++; drop_(&m); }\n\
                void g(void) { take(&m); if (x) { drop_(&m); return; } drop_(&m); }\n";
    let rows = became(&text.replace("m, n", "m"));
    let becomes = |what: &str| {
        rows.iter()
            .filter(|row| row.0 == "m" && row.1 == what)
            .count()
    };
    assert_eq!(
        (becomes("function"), becomes("in place")),
        (1, 1),
        "{rows:?}"
    );
    let rows = became(&format!("{text}int h(void) {{ return odd(&n); }}\n"));
    let reason = rows
        .iter()
        .find(|row| row.0 == "n")
        .map(|row| row.2.clone());
    assert!(
        reason.is_some_and(|why| why.contains("has its address passed to odd()")),
        "{rows:?}"
    );
    // A variable of that name is not called, and a callable one is not a macro.
    let rows = became(&format!(
        "#define own(of) pthread_mutex_lock(of)\nstatic __thread int own;\n{MUTEX}{PLAIN}\
         void f(void) {{ own(&m); own = x; pthread_mutex_unlock(&m); }}\n"
    ));
    let is_it = |row: &(String, String, String)| row.1 == "in place" && row.2.contains("uses own,");
    assert!(rows.iter().any(is_it), "{rows:?}");
    for other in [
        "void take(pthread_mutex_t *of) { x += 2; pthread_mutex_lock(of); }",
        "extern void take(pthread_mutex_t *of);",
        "void g(void (*take)(pthread_mutex_t *)) { take(&m); }",
    ] {
        let rows = became(&format!(
            "{MUTEX}#ifdef X\n{other}\n#else\n#define take(of) pthread_mutex_lock(of)\n#endif\n\
             void f(void) {{ take(&m); x++; pthread_mutex_unlock(&m); }}\n"
        ));
        let is_it =
            |row: &(String, String, String)| row.1 == "left alone" && row.2.contains("take()");
        assert!(rows.iter().any(is_it), "{other}: {rows:?}");
    }
}

#[test]
fn a_branch_that_is_not_compiled_is_not_read() {
    let split = "#ifdef A\nvoid f(void) {\n#else\nvoid f(int a) { m = 1;\n#endif\n  \
                 pthread_mutex_lock(&m);\n#if defined(A) && !defined(B)\n  x++;\n#endif\n  \
                 pthread_mutex_unlock(&m);\n}\n";
    let rows = became_by(&["-D", "A=1", "-U", "B"], &format!("{MUTEX}{split}"));
    let functions = rows.iter().filter(|(_, becomes, _)| becomes == "function");
    assert_eq!(functions.count(), 1, "{rows:?}");
    // A value that the branch itself defines contradicts nothing.
    let text = format!("#ifdef B\n#define A\n#endif\n#ifndef C\n#define C\n#endif\n{MUTEX}{PLAIN}");
    became_by(&["-U", "A", "-U", "B", "-D", "C"], &text);
    for (options, why) in [
        (["-U", "A"], "a.c:1: `#define A` contradicts -U A"),
        (["-D", "B"], "a.c:2: `#undef B` contradicts -D B"),
        (["-U", "C"], "a.c:4: `#define C` contradicts -U C"),
    ] {
        let text = "#define A 1\n#undef B\n#ifndef C\n#define C\n#endif\n";
        let folder = program(text);
        let mut command = cohort();
        let command = command.arg("delegate").args(options).arg("a.c");
        let command = command.current_dir(folder.path());
        command.assert().code(2).stderr(contains(why));
    }
    for (options, why) in [
        (["-D", "A", "-U", "A"], "A is both defined and undefined"),
        (["-D", "A", "-D", "1 +"], "`1 +` is not a macro name"),
    ] {
        let mut command = cohort();
        let command = command.arg("delegate").args(options).arg("a.c");
        command.assert().code(2).stderr(contains(why));
    }
}

/// Results for a program with these options: each name's results, and the text.
fn converted_by(options: &[&str], text: &str) -> (Vec<(String, String, String)>, TempDir) {
    let text = format!("#include <pthread.h>\n{text}");
    let folder = program(&text);
    let mut command = cohort();
    let command = command.args(["delegate", "--out", "out", "a.c"]);
    let command = command.args(options).current_dir(folder.path());
    command.assert().code(0);
    let rows = became_by(options, text.split_once('\n').map_or("", |(_, rest)| rest));
    (rows, folder)
}

/// The compiler's result for a converted program.
fn compiled(folder: &TempDir, options: &[&str]) -> Result<(), String> {
    let output = Command::new("cc")
        .args(["-std=gnu11", "-fsyntax-only", "-Werror", "-I"])
        .arg(root().join("crates/cohort-c/include"))
        .args(options)
        .arg(folder.path().join("out/a.c"))
        .output()
        .expect("there is a compiler");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        Ok(())
    } else {
        Err(said)
    }
}

#[test]
fn a_branch_that_is_decided_at_the_edge_of_a_section_stays_whole() {
    for (inside, without) in [
        ("x++;\n#ifdef A\n  x--;\n#endif", true),
        ("#ifdef A\n  x++;\n#endif", true),
        ("#ifdef A\n  x++;\n#endif\n  x--;", true),
        // Unread code is not treated as read.
        ("#ifdef A\n  x++;\n#else\n  return;\n#endif", false),
        ("#ifndef A /* c */\n  return;\n#endif\n  x++;", false),
    ] {
        let section = format!(
            "void f(void) {{\n  pthread_mutex_lock(&m);\n{inside}\n  pthread_mutex_unlock(&m);\n}}\n"
        );
        let (rows, folder) = converted_by(&["-D", "A"], &format!("{MUTEX}{section}"));
        let is_function = rows.iter().any(|(_, becomes, _)| becomes == "function");
        assert!(is_function, "{inside}: {rows:?}");
        assert_eq!(compiled(&folder, &["-DA"]), Ok(()), "{inside}");
        let other = compiled(&folder, &[]);
        assert_eq!(other.is_ok(), without, "{inside}: {other:?}");
        let is_told = other
            .err()
            .is_none_or(|said| said.contains("ignored this branch"));
        assert!(is_told, "{inside}");
    }
    for section in [
        "#ifdef A\n  pthread_mutex_lock(&m);\n#else\n  x--;\n#endif\n  x++;\n  \
         pthread_mutex_unlock(&m);\n",
        "  pthread_mutex_lock(&m);\n  x++;\n#ifdef A\n  pthread_mutex_unlock(&m);\n#endif\n",
    ] {
        let text = format!("{MUTEX}{PLAIN}void f(void) {{\n{section}}}\n");
        let (rows, folder) = converted_by(&["-D", "A"], &text);
        let why = "contains a part of an `#if`";
        let is_it = |row: &(String, String, String)| row.1 == "in place" && row.2.contains(why);
        assert!(rows.iter().any(is_it), "{section}: {rows:?}");
        assert_eq!(compiled(&folder, &["-DA"]), Ok(()), "{section}");
    }
    let rows = became_by(
        &["-D", "A"],
        &format!(
            "{MUTEX}{PLAIN}void f(void) {{\n  pthread_mutex_init(&m,\n#ifdef A\n    NULL\n#else\n    0\n\
             #endif\n  );\n}}\n"
        ),
    );
    assert!(
        rows[0].2.contains("a call that contains a directive"),
        "{rows:?}"
    );
}

#[test]
fn what_cannot_be_parsed_stays_as_it_is_with_the_mutexes_that_it_names() {
    let odd = "static pthread_mutex_t n;\n\
               LIST_HEAD(own, other) int listed;\n\
               int v(void *p) { /* don't */ pthread_mutex_lock(&n); return EACH(x) { x++; } 1; }\n\
               void g(void) { pthread_mutex_lock(&n); x++; pthread_mutex_unlock(&n); }\n\
               void h(void) { pthread_mutex_lock(&m); v(0); pthread_mutex_unlock(&m); }\n\
               static /* don't */ OWN int own;\n\
               #ifdef X\nint u(void) { return 1; }\n#else\n\
               int u(void) { return EACH(x) { x++; } 1; }\n#endif\n\
               void k(void) { pthread_mutex_lock(&m); u(); pthread_mutex_unlock(&m); }\n\
               void w(void) { pthread_mutex_lock(&m); own = x; pthread_mutex_unlock(&m); }\n";
    let text = format!("{MUTEX}{PLAIN}{odd}");
    let folder = program(&text);
    let mut refused = cohort();
    let refused = refused.args(["delegate", "a.c"]).current_dir(folder.path());
    refused.assert().code(2).stderr(contains("a.c:"));
    let rows = became_by(&["--leave-unparsed"], &text);
    for (name, becomes, why) in [
        ("n", "left alone", "is named in unparsable text"),
        ("m", "converted", ""),
        ("m", "function", ""),
        ("m", "in place", "calls v(), which cannot be parsed"),
        ("m", "in place", "calls u(), which cannot be parsed"),
        ("m", "in place", "uses own, declared in unparsable text"),
    ] {
        let is_it = |row: &(String, String, String)| {
            row.0 == name && row.1 == becomes && row.2.contains(why)
        };
        assert!(rows.iter().any(is_it), "{name} {becomes} {why}: {rows:?}");
    }
}

/// A program's definitions for the system's headers precede them.
#[test]
fn the_library_is_included_behind_what_else_is() {
    let written = |text: &str| {
        let folder = program(text);
        cohort()
            .args(["delegate", "--out", "out", "a.c"])
            .current_dir(folder.path())
            .assert()
            .code(0);
        std::fs::read_to_string(folder.path().join("out/a.c")).expect("it was written")
    };
    let text = format!("#define _GNU_SOURCE 1\n#include <pthread.h>\nint y;\n{MUTEX}{PLAIN}");
    let made = written(&text);
    assert!(
        made.starts_with("#define _GNU_SOURCE 1\n#include <pthread.h>\n#include <cohort.h>\n"),
        "{made}"
    );
    // A structure with the first change is not split.
    let made = written(
        "/* It counts. */\nstruct counter { pthread_mutex_t lock; int x; };\n\
         void f(struct counter *c) { pthread_mutex_lock(&c->lock); c->x++; \
         pthread_mutex_unlock(&c->lock); }\n",
    );
    assert!(made.starts_with("#include <cohort.h>\n"), "{made}");
}

#[test]
fn a_file_that_does_not_parse_is_told_with_its_line_and_nothing_is_written() {
    let folder = program("int f(void) {\n  return 1 +;\n}\n");
    cohort()
        .args(["delegate", "--out", "out", "a.c"])
        .current_dir(folder.path())
        .assert()
        .code(2)
        .stderr(contains("a.c:2:").and(contains("no file was written")));
    assert!(!folder.path().join("out").exists());
    for (arguments, why) in [
        (vec!["--out", ".", "a.c"], "would be overwritten"),
        (
            vec!["--out", "out", "a.c", "a.c"],
            "two files would be written",
        ),
        (vec!["absent.c"], "cannot read absent.c"),
        (vec![], "FILE.c"),
    ] {
        cohort()
            .arg("delegate")
            .args(&arguments)
            .current_dir(folder.path())
            .assert()
            .code(2)
            .stderr(contains(why));
    }
}

#[test]
fn the_report_fits_a_page() {
    let output = cohort()
        .arg("delegate")
        .args(["bank.c", "queue.c", "shapes.c"])
        .current_dir(root().join("examples/delegate"))
        .assert()
        .code(0);
    let said = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    let widest = said.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?} columns:\n{said}");
    assert!(said.contains("To write the files"), "{said}");
}

/// The programs and their conversions print the same under the real library.
#[test]
fn the_examples_do_the_same_afterwards() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let below = |name: &str| folder.path().join(name).display().to_string();
    let examples = root().join("examples/delegate");
    cohort()
        .args(["delegate", "--out", &below("out")])
        .args(["bank.c", "queue.c", "shapes.c"])
        .current_dir(&examples)
        .assert()
        .code(0);
    let prefix = format!("PREFIX={}", compiled::prefix().display());
    let (out, build) = (below("out"), below("build"));
    let places = [format!("OUT={out}"), format!("BUILD={build}")];
    compiled::make(
        "examples/delegate",
        &[
            "test".to_owned(),
            prefix,
            places[0].clone(),
            places[1].clone(),
        ],
    );
}
