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

/// Whether libclang is here; said if not.
pub fn is_readable() -> bool {
    let folder = program("int x;\n");
    let output = cohort()
        .args(["delegate", "a.c"])
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let is = output.status.code() != Some(125);
    if !is {
        eprintln!("skip: {said}");
    }
    is
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
    rows(
        folder.path(),
        &[&["-D_GNU_SOURCE", "a.c"], options].concat(),
    )
}

/// Name, result and reason of each mutex and lock call, by a run in that folder.
fn rows(folder: &Path, arguments: &[&str]) -> Vec<(String, String, String)> {
    let output = cohort()
        .args(["delegate", "--json"])
        .args(arguments)
        .current_dir(folder)
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
    if !is_readable() {
        return;
    }
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
    if !is_readable() {
        return;
    }
    let section = |inside: &str| {
        why_in_place(&format!(
            "int f(int a) {{\n  pthread_mutex_lock(&m);\n  {inside}\n  pthread_mutex_unlock(&m);\n  \
             return a;\n}}\n"
        ))
    };
    for (inside, why) in [
        ("if (x) return 1;", "is left by `return` (line 11)"),
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
        (
            "int *p = __builtin_alloca(1); *p = 1;",
            "which uses the stack frame",
        ),
        ("int (*g)(void) = 0; g();", "calls through the pointer g"),
        (
            "x = __func__[0];",
            "depends on its function's name by __func__",
        ),
        (
            "pthread_mutex_t *o = 0; pthread_mutex_lock(o);",
            "calls pthread_mutex_lock(), which locks a mutex that may be recursive",
        ),
        ("__asm__ volatile(\"\");", "contains assembly"),
        (
            "void *p = &&l; l: x = p != 0;",
            "computes the address of a label",
        ),
        (
            "if (a) pthread_mutex_unlock(&m);",
            "is left in more than one place",
        ),
        (
            "if (a) { pthread_mutex_unlock(&m); a++; }",
            "is unlocked in a branch that goes on",
        ),
        (
            "if (a) { pthread_mutex_unlock(&m); a++; pthread_mutex_lock(&m); return 1; }",
            "is unlocked and locked again",
        ),
        (
            "while (a--) { if (x) { pthread_mutex_unlock(&m); break; } }",
            "is unlocked in a branch that goes on",
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
            "void f(int i) { while (i--) { pthread_mutex_lock(&m); if (x) break; \
             pthread_mutex_unlock(&m); } }",
            "is left by `break`",
        ),
        (
            "void f(int i) { pthread_mutex_lock(&m); if (i) goto out; x++; \
             pthread_mutex_unlock(&m); return; out: x--; pthread_mutex_unlock(&m); }",
            "is left by `goto`",
        ),
        (
            "void f(int i) { if (i) pthread_mutex_lock(&m); x++; if (i) pthread_mutex_unlock(&m); }",
            "does not begin as a statement of a block",
        ),
        (
            "void f(void) { if (pthread_mutex_lock(&m) == 0) { x++; pthread_mutex_unlock(&m); } }",
            "uses the result of its lock call",
        ),
        (
            "void f(void) { pthread_mutex_lock(&m); int v[2] = { x }; pthread_mutex_unlock(&m); x = v[0]; }",
            "declares v in line 10 for use after the critical section",
        ),
        (
            "void f(int a) { pthread_mutex_lock(&m); int v = x; if (a) { pthread_mutex_unlock(&m); v++; } else \
             pthread_mutex_unlock(&m); x = v; }",
            "ends in another block than it begins",
        ),
        (
            "void f(int a) { pthread_mutex_lock(&m); int v = x; if (a) { pthread_mutex_unlock(&m); v++; } else { \
             pthread_mutex_unlock(&m); } x = v; }",
            "declares v for use at an exit and behind it",
        ),
        (
            "void f(int a) { pthread_mutex_lock(&m); int v = x; if (a) { pthread_mutex_unlock(&m); goto out; } \
             x++; pthread_mutex_unlock(&m); a++; out: x = v; }",
            "declares v for use at an exit and behind it",
        ),
        (
            "static pthread_mutex_t o[2];\nvoid f(int i) { pthread_mutex_lock(&o[i]); x++; \
             pthread_mutex_unlock(&o[i]); }\nvoid g(int i) { pthread_mutex_lock(&m); \
             pthread_mutex_lock(&o[i]); x++; pthread_mutex_unlock(&m); pthread_mutex_unlock(&o[i]); }",
            "is not properly nested",
        ),
        (
            "void f(va_list ap) { pthread_mutex_lock(&m); x = __builtin_va_arg(ap, int); \
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
            "uses g, declared in its function",
        ),
        (
            "static void own(int);\nstatic void (*any)(int);\nvoid set(void (*to)(int)) { any = to; }\n\
             void (*got(void))(int); void g(void) { set(own); set(got()); }\nstatic void own(int a) { x = a; }\n\
             void f(void) { pthread_mutex_lock(&m); any(1); pthread_mutex_unlock(&m); }",
            "calls through the pointer any",
        ),
        (
            "static __thread int own; static int less(const void *a, const void *b) { (void)a; (void)b; \
             return own; }\nvoid sorts(void *, int (*)(const void *, const void *)) { }\n\
             void f(void) { pthread_mutex_lock(&m); sorts(&x, less); pthread_mutex_unlock(&m); }",
            "passes less() on, which uses own, which is thread-local",
        ),
    ] {
        let said = why_in_place(&format!("#include <stdarg.h>\n{what}"));
        assert!(said.contains(why), "{what}: {said}");
    }
}

/// The outlined function precedes its function, where a macro may have another meaning.
#[test]
fn a_macro_that_a_function_changes_before_a_section_is_not_used_above_it() {
    if !is_readable() {
        return;
    }
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
            "#include <stddef.h>",
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
        ("#define SIZE 4\n  int v[SIZE];", "v[0] = x;"),
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
    if !is_readable() {
        return;
    }
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
    if !is_readable() {
        return;
    }
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
            "#include <time.h>\nint g(struct timespec *t) { return pthread_mutex_timedlock(&m, t); }",
            "is passed to pthread_mutex_timedlock()",
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
            "is defined in none of these files",
        ),
        (
            "#define pthread_mutex_unlock(of) (x++, 0)\nstatic pthread_mutex_t m;",
            "",
            "one ends in another block than it begins",
        ),
        (
            "static pthread_mutex_t m;\n#define TWO(of) (pthread_mutex_unlock(of), pthread_mutex_lock(of))",
            "void g(void) { TWO(&m); }",
            "is used through the macro TWO, which is not understood",
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
        let is_untouched = rows.iter().all(|(name, becomes, _)| {
            name != "m" || becomes == "left alone" || becomes == "unchanged"
        });
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
    if !is_readable() {
        return;
    }
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
}

/// Words before a function may be its specifiers, and do not apply to another one.
#[test]
fn a_word_that_is_not_understood_stays_before_its_function() {
    if !is_readable() {
        return;
    }
    for words in [
        "KIND OTHER",
        "NAMED(\"a\")",
        "KIND OTHER /* c */",
        "NAMED(\"a\")\n",
    ] {
        let section = format!("/* It counts. */\n{words} {}", PLAIN.trim_start());
        let text = format!(
            "#define KIND extern\n#define OTHER inline\n#define NAMED(of) __attribute__((section(of)))\n\
             {MUTEX}{section}"
        );
        let (rows, folder) = converted_by(&[], &text);
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
    if !is_readable() {
        return;
    }
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
    if !is_readable() {
        return;
    }
    let text = "#define take(of) pthread_mutex_lock(of)\n#define drop_ pthread_mutex_unlock\n\
                #define odd(of) pthread_mutex_trylock((of))\n#define M (&m)\n\
                static pthread_mutex_t m, n;\nstatic int x;\n\
                void f(void) { take(&m); x++; drop_(&m); }\n\
                void h(void) { take(M); x++; drop_(M); }\n\
                void g(void) { take(&m); if (x) { drop_(&m); return; } drop_(&m); }\n";
    let (rows, folder) = converted_by(&[], &text.replace("m, n", "m"));
    let functions = rows.iter().filter(|row| row.1 == "function").count();
    assert_eq!(functions, 3, "{rows:?}");
    assert_eq!(compiled(&folder, &[]), Ok(()));
    let rows = became(&format!("{text}int i(void) {{ return odd(&n); }}\n"));
    let reason = rows
        .iter()
        .find(|row| row.0 == "n")
        .map(|row| row.2.clone());
    assert!(
        reason.is_some_and(|why| why.contains("one runs only if its mutex is free")),
        "{rows:?}"
    );
}

/// A tried mutex is converted; its tried sections lock in place, and others become functions.
#[test]
fn a_mutex_that_is_tried_is_converted() {
    if !is_readable() {
        return;
    }
    let text = "#define ATTEMPT(of) (pthread_mutex_trylock(&(of)) == 0)\n\
                int f(void) { if (pthread_mutex_trylock(&m) != 0) return 1; x--; \
                pthread_mutex_unlock(&m); return 0; }\n\
                void g(void) { if (ATTEMPT(m)) { x += 2; pthread_mutex_unlock(&m); } }\n\
                void h(void) { if (pthread_mutex_trylock(&m))\n{ pthread_mutex_lock(&m); } x += 3; \
                pthread_mutex_unlock(&m); }\n\
                void i(int a) { if (a && !pthread_mutex_trylock(&m)) goto in;\npthread_mutex_lock(&m); \
                in: x += 4; pthread_mutex_unlock(&m); }\n\
                void j(void) { pthread_mutex_lock(&m);\nif (pthread_mutex_trylock(&m)) x += 5; \
                pthread_mutex_unlock(&m); }\n";
    let (rows, folder) = converted_by(&[], &format!("{MUTEX}{PLAIN}{text}"));
    let count = |becomes: &str| rows.iter().filter(|row| row.1 == becomes).count();
    assert_eq!((count("converted"), count("function")), (1, 1), "{rows:?}");
    // Five tries, and the three locks beside them.
    assert_eq!(count("in place"), 8, "{rows:?}");
    let tried = rows
        .iter()
        .filter(|row| row.2.contains("only if its mutex is free"));
    assert_eq!(tried.count(), 5, "{rows:?}");
    assert_eq!(compiled(&folder, &[]), Ok(()));
    let made = std::fs::read_to_string(folder.path().join("out/a.c")).expect("it was written");
    let tries = made.matches("cohort_delegated_lock_try(cohort_delegated_at(");
    assert_eq!(tries.count(), 5, "{made}");
    assert!(!made.contains("pthread_mutex_trylock(&m)"), "{made}");
}

/// A macro that locks and unlocks is converted where it is.
#[test]
fn a_macro_with_a_whole_section_locks_in_place() {
    if !is_readable() {
        return;
    }
    let text = "#define ADD(of, by) do { pthread_mutex_lock(&(of)); x += by; pthread_mutex_unlock(&(of)); } \
                while (0)\nstatic void g(void) { ADD(m, 2); }\nstatic pthread_mutex_t o;\n\
                void f(void) { ADD(m, - -1); pthread_mutex_lock(&o); g(); pthread_mutex_unlock(&o); }\n";
    let (rows, folder) = converted_by(&[], &format!("{MUTEX}{PLAIN}{text}"));
    let count = |becomes: &str, why: &str| {
        let mut all = rows.iter().collect::<Vec<_>>();
        all.retain(|row| row.1 == becomes && row.2.contains(why));
        all.len()
    };
    assert_eq!(
        count("in place", "is made by a macro, with its end"),
        2,
        "{rows:?}"
    );
    assert_eq!(count("function", ""), 2, "{rows:?}");
    assert_eq!(compiled(&folder, &["-Wall", "-Wextra"]), Ok(()));
    let made = std::fs::read_to_string(folder.path().join("out/a.c")).expect("it was written");
    assert!(
        made.contains("x+= - -1;") || made.contains("x+=- -1;"),
        "{made}"
    );
}

/// A variable that a section changes is also the inner lock's.
#[test]
fn a_lock_inside_a_section_is_of_the_sections_variables() {
    if !is_readable() {
        return;
    }
    let row = "struct row { pthread_mutex_t lock; int sum; struct row *next; };\nstatic struct row *first;\n\
               void g(struct row *r) { pthread_mutex_lock(&r->lock); r->sum++; pthread_mutex_unlock(&r->lock); }\n";
    let (rows, folder) = converted_by(
        &[],
        &format!(
            "{MUTEX}{row}void f(void) {{ struct row *r; pthread_mutex_lock(&m); for (r = first; r; r = r->next) {{ \
             pthread_mutex_lock(&r->lock); x += r->sum; pthread_mutex_unlock(&r->lock); }} \
             pthread_mutex_unlock(&m); }}\n"
        ),
    );
    let functions = rows.iter().filter(|row| row.1 == "function").count();
    assert_eq!(functions, 2, "{rows:?}");
    assert_eq!(compiled(&folder, &["-Wall", "-Wextra"]), Ok(()));
    let (rows, _) = converted_by(
        &[],
        &format!(
            "#define LOCK(r) pthread_mutex_lock(&(r)->lock)\n{MUTEX}{PLAIN}{row}void f(void) {{ struct row *r; \
             pthread_mutex_lock(&m); for (r = first; r; r = r->next) {{ LOCK(r); x += r->sum; \
             pthread_mutex_unlock(&(r)->lock); }} pthread_mutex_unlock(&m); }}\n"
        ),
    );
    let is_it = |row: &(String, String, String)| row.2.contains("passes r to a macro that locks");
    assert!(rows.iter().any(is_it), "{rows:?}");
}

/// Two compilations of a file, one with more of a section.
#[test]
fn a_file_that_is_compiled_twice_is_read_twice() {
    if !is_readable() {
        return;
    }
    let folder = program(&format!(
        "#include <pthread.h>\n{MUTEX}#ifdef MORE\n#define CHECK(of) do {{ if (!(of)) __builtin_trap(); }} while (0)\n\
         #else\n#define CHECK(of) ((void)0)\n#endif\n\
         void f(int a, int b) {{\n  (void)a;\n  pthread_mutex_lock(&m);\n  CHECK(a < 9);\n  x += b;\n  \
         pthread_mutex_unlock(&m);\n}}\n\
         void g(void) {{\n#ifdef MORE\n  pthread_mutex_lock(&m);\n  x++;\n  pthread_mutex_unlock(&m);\n#endif\n}}\n"
    ));
    let here = folder.path().canonicalize().expect("it exists");
    let here = here.display();
    let all = format!(
        "[{{\"directory\": \"{here}\", \"file\": \"a.c\", \"command\": \"cc -c a.c\"}}, \
         {{\"directory\": \"{here}\", \"file\": \"a.c\", \"command\": \"cc -DMORE -c a.c\"}}]"
    );
    std::fs::write(folder.path().join("compile_commands.json"), all).expect("writable");
    let rows = rows(folder.path(), &["-p", ".", "--out", "out"]);
    let becomes: Vec<&str> = rows.iter().map(|row| &*row.1).collect();
    assert_eq!(becomes, ["converted", "function", "in place"], "{rows:?}");
    assert_eq!(rows[2].2, "is compiled in several ways");
    for options in [&["-Wall", "-Wextra"][..], &["-Wall", "-Wextra", "-DMORE"]] {
        assert_eq!(compiled(&folder, options), Ok(()));
    }
}

#[test]
fn a_branch_that_is_not_compiled_is_not_read() {
    if !is_readable() {
        return;
    }
    let split = "#ifdef A\nvoid f(void) {\n#else\nvoid f(int a) { m = 1;\n#endif\n  \
                 pthread_mutex_lock(&m);\n#if defined(A) && !defined(B)\n  x++;\n#endif\n  \
                 pthread_mutex_unlock(&m);\n}\n";
    let rows = became_by(&["-D", "A=1", "-U", "B"], &format!("{MUTEX}{split}"));
    let functions = rows.iter().filter(|(_, becomes, _)| becomes == "function");
    assert_eq!(functions.count(), 1, "{rows:?}");
    let mut command = cohort();
    let command = command.args(["delegate", "-D", "1 +", "a.c"]);
    command
        .assert()
        .code(2)
        .stderr(contains("`1 +` is not a macro name"));
}

/// Results for a program with these options: each name's results, and the text.
fn converted_by(options: &[&str], text: &str) -> (Vec<(String, String, String)>, TempDir) {
    let text = format!("#include <pthread.h>\n{text}");
    let folder = program(&text);
    let mut command = cohort();
    let command = command.args(["delegate", "--out", "out", "-D_GNU_SOURCE", "a.c"]);
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
    if !is_readable() {
        return;
    }
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

/// A program of two files with a header: a wrapper in one locks for the other.
fn two_files() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
        std::fs::write(file, text).expect("the folder is writable");
    };
    write(
        "include/own.h",
        "#ifndef OWN_H\n#define OWN_H\n#include <pthread.h>\nstruct row { pthread_mutex_t lock; long sum; };\n\
         void row_lock(struct row *row);\nvoid row_unlock(struct row *row);\nextern struct row rows[2];\n\
         #endif\n",
    );
    write(
        "src/rows.c",
        "#include \"own.h\"\nstruct row rows[2] = { { .lock = PTHREAD_MUTEX_INITIALIZER },\n    \
         { .lock = PTHREAD_MUTEX_INITIALIZER } };\n\
         void row_lock(struct row *row)\n{\n    pthread_mutex_lock(&row->lock);\n}\n\
         void row_unlock(struct row *row)\n{\n    pthread_mutex_unlock(&row->lock);\n}\n",
    );
    write(
        "src/main.c",
        "#include \"own.h\"\n#include <stdio.h>\nstatic long add(struct row *row, long by)\n{\n    \
         row_lock(row);\n    if (by > LIMIT) {\n        row_unlock(row);\n        return -1;\n    }\n    \
         row->sum += by;\n    long now = row->sum;\n    row_unlock(row);\n    return now;\n}\n\
         int main(void)\n{\n    long failed = 0;\n    for (int i = 0; i < 9; i++)\n        \
         failed += add(&rows[i % 2], i) < 0;\n    printf(\"%ld %ld %ld\\n\", rows[0].sum, rows[1].sum, failed);\n    \
         return 0;\n}\n",
    );
    write(
        "Makefile",
        "all: main\nmain: src/main.c src/rows.c\n\tcc -Iinclude -DLIMIT=6 -pthread $(FLAGS) -o $@ src/main.c \
         src/rows.c $(LIBS)\n",
    );
    folder
}

/// What the program of [`two_files`] prints, as it is and converted.
fn both_say(folder: &TempDir) -> (String, String) {
    let built = |place: &Path, words: &[String]| {
        let made = Command::new("make").args(words).current_dir(place).output();
        let made = made.expect("there is make");
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        let ran = Command::new(place.join("main"))
            .output()
            .expect("it was built");
        assert!(ran.status.success());
        String::from_utf8_lossy(&ran.stdout).into_owned()
    };
    let before = built(folder.path(), &["-B".to_owned()]);
    let copied = Command::new("sh")
        .args([
            "-c",
            "cp Makefile out && cp -n src/* out/src && cp -n include/* out/include",
        ])
        .current_dir(folder.path())
        .status();
    assert!(copied.expect("there is a shell").success());
    let prefix = compiled::prefix().display().to_string();
    let words = [
        format!("FLAGS=-Wall -Wextra -Werror -I{prefix}/include"),
        format!("LIBS=-L{prefix}/lib -Wl,-rpath,{prefix}/lib -lcohort"),
    ];
    (before, built(&folder.path().join("out"), &words))
}

#[test]
fn a_program_is_read_by_its_compilations() {
    if !is_readable() {
        return;
    }
    let folder = two_files();
    let here = folder.path().canonicalize().expect("it exists");
    let here = here.display();
    let all = format!(
        "[{{\"directory\": \"{here}/src\", \"file\": \"main.c\", \"command\": \"cc -I ../include \
         '-DLIMIT=6' -Wunheard-of -c -o x.o main.c\"}}, {{\"directory\": \"{here}\", \"file\": \
         \"src/rows.c\", \"arguments\": [\"cc\", \"-Iinclude\", \"-c\", \"src/rows.c\"]}}]"
    );
    std::fs::write(folder.path().join("compile_commands.json"), all).expect("writable");
    let rows = rows(folder.path(), &["-p", ".", "--out", "out"]);
    let becomes: Vec<&str> = rows.iter().map(|row| &*row.1).collect();
    assert_eq!(becomes, ["converted", "function", "in place"], "{rows:?}");
    let (before, after) = both_say(&folder);
    assert_eq!(before, after);
    assert_eq!(before, "12 9 2\n");
}

#[test]
fn a_program_is_read_by_its_build() {
    if !is_readable() {
        return;
    }
    let folder = two_files();
    let mut command = cohort();
    let command = command.args(["delegate", "--out", "out", "--", "make"]);
    let said = command.current_dir(folder.path()).assert().code(0);
    let said = String::from_utf8_lossy(&said.get_output().stdout).into_owned();
    assert!(said.contains("1 outlined, 1 in place"), "{said}");
    let (before, after) = both_say(&folder);
    assert_eq!(before, after);
    // What is built already is not compiled.
    for (words, why) in [
        (["make", "main"], "compiled no C file"),
        (["make", "absent"], "make failed"),
        (["absent-command", ""], "cannot run absent-command"),
    ] {
        let mut command = cohort();
        let command = command
            .args(["delegate", "--out", "other", "--"])
            .args(words);
        let command = command.current_dir(folder.path());
        command.assert().failure().stderr(contains(why));
        assert!(!folder.path().join("other").exists());
    }
}

/// Names are those of the folder in which the command runs, wherever the program is compiled; options
/// may be in a response file.
#[test]
fn a_program_is_read_from_another_folder() {
    if !is_readable() {
        return;
    }
    let folder = two_files();
    let below = |name: &str| folder.path().join(name);
    std::fs::create_dir(below("elsewhere")).expect("writable");
    std::fs::write(below("options"), "-Iinclude '-DLIMIT=6'\n").expect("writable");
    let all = "[{\"directory\": \".\", \"file\": \"src/main.c\", \"command\": \"cc @options -c src/main.c\"}, \
               {\"directory\": \"src\", \"file\": \"rows.c\", \"command\": \"cc -I../include -c rows.c\"}]";
    std::fs::write(below("compile_commands.json"), all).expect("writable");
    let makefile = "all:\n\tcc @options -pthread -o main src/main.c src/rows.c\n";
    std::fs::write(below("Makefile"), makefile).expect("writable");
    for arguments in [
        &["delegate", "--out", "first", "-p", ".."][..],
        &["delegate", "--out", "second", "--", "make", "-C", ".."],
    ] {
        let converts = cohort()
            .args(arguments)
            .current_dir(below("elsewhere"))
            .assert()
            .code(0);
        let said = String::from_utf8_lossy(&converts.get_output().stdout).into_owned();
        assert!(said.contains("1 outlined, 1 in place"), "{said}");
        let made = below("elsewhere").join(arguments[2]);
        let files = Command::new("find").arg(&made).output();
        let files = files.expect("there is find").stdout;
        let files = String::from_utf8_lossy(&files).into_owned();
        assert!(files.contains("rows.c"), "{files}");
    }
}

#[test]
fn damaged_compilations_are_refused_and_nothing_is_written() {
    if !is_readable() {
        return;
    }
    for (text, why) in [
        ("", "EOF"),
        ("[{\"directory\": \"/\"}]", "missing field `file`"),
        ("[]", "names no C file"),
        (
            "[{\"directory\": \".\", \"file\": \"a.c\"}]",
            "entry 1 has neither `command` nor `arguments`",
        ),
        (
            "[{\"directory\": \".\", \"file\": \"a.c\", \"command\": \"cc 'a.c\"}]",
            "entry 1: unbalanced quotes",
        ),
        (
            "[{\"directory\": \".\", \"file\": \"absent.c\", \"command\": \"cc absent.c\"}]",
            "absent.c does not exist",
        ),
    ] {
        let folder = program("int x;\n");
        std::fs::write(folder.path().join("compile_commands.json"), text).expect("writable");
        let mut command = cohort();
        let command = command.args(["delegate", "-p", ".", "--out", "out"]);
        let command = command.current_dir(folder.path());
        command.assert().code(2).stderr(contains(why));
        assert!(!folder.path().join("out").exists(), "{text}");
    }
    let folder = program("int x;\n");
    let mut command = cohort();
    let command = command
        .args(["delegate", "-p", "."])
        .current_dir(folder.path());
    let said = command
        .assert()
        .code(2)
        .stderr(contains("compile_commands.json"));
    drop(said);
}

#[test]
fn without_libclang_the_command_says_what_to_install() {
    let folder = program("int x;\n");
    let mut command = cohort();
    let command = command
        .args(["delegate", "--out", "out", "a.c"])
        .env("LIBCLANG_PATH", folder.path())
        .current_dir(folder.path());
    command
        .assert()
        .code(125)
        .stderr(contains("LIBCLANG_PATH").and(contains("libclang-dev")));
    assert!(!folder.path().join("out").exists());
}

#[test]
fn a_file_that_does_not_parse_stays_as_it_is_with_the_mutexes_that_it_names() {
    if !is_readable() {
        return;
    }
    let folder = program(&format!(
        "#include <pthread.h>\npthread_mutex_t n;\n{MUTEX}{PLAIN}void g(void) {{ pthread_mutex_lock(&n); \
         x++; pthread_mutex_unlock(&n); }}\n"
    ));
    let odd = "extern int n;\nint f(void) { return 1 +; }\n";
    std::fs::write(folder.path().join("b.c"), odd).expect("writable");
    let mut refused = cohort();
    let refused = refused
        .args(["delegate", "a.c", "b.c"])
        .current_dir(folder.path());
    refused
        .assert()
        .code(2)
        .stderr(contains("b.c:2:").and(contains("--leave-unparsed")));
    let mut command = cohort();
    let output = command
        .args(["delegate", "--leave-unparsed", "--json", "a.c", "b.c"])
        .current_dir(folder.path())
        .assert()
        .code(0);
    let sheet: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    let rows = sheet["rows"].as_array().expect("a list");
    for (name, becomes, why) in [
        (
            "n",
            "left alone",
            "is named in a file that does not parse (b.c:1)",
        ),
        (
            "n",
            "unchanged",
            "its mutex is named in a file that does not parse (b.c:1)",
        ),
        ("m", "function", ""),
    ] {
        let is_it = |row: &Value| {
            row["name"] == name
                && row["becomes"] == becomes
                && row["reason"].as_str().unwrap_or_default() == why
        };
        assert!(rows.iter().any(is_it), "{name} {becomes}: {rows:?}");
    }
}

/// What is assigned through blanks, comments and macros is assigned for the caller.
#[test]
fn no_assignment_is_lost() {
    if !is_readable() {
        return;
    }
    let text = format!(
        "#include <pthread.h>\n#include <stdio.h>\n{MUTEX}#define SET(v, e) v = e\n#define IS =\n\
         #define SWAP(a, b) do {{ int t_ = a; a = b; b = t_; }} while (0)\ntypedef int kind;\n\
         int main(void)\n{{\n    int a = 0, b = 0, c = 0, d = 0, e = 1, f = 2;\n    kind y = 1;\n    kind kind = 2;\n    \
         pthread_mutex_lock(&m);\n    a /* one */ = 1;\n    b \\\n = 2;\n    SET(c, 3);\n    d IS 4;\n    \
         SWAP(e, f);\n    x += y + kind;\n    pthread_mutex_unlock(&m);\n    \
         printf(\"%d %d %d %d %d %d %d\\n\", a, b, c, d, e, f, x);\n    \
         return 0;\n}}\n"
    );
    let folder = program(&text);
    let converts = cohort()
        .args(["delegate", "--out", "out", "a.c"])
        .current_dir(folder.path())
        .assert()
        .code(0);
    let said = String::from_utf8_lossy(&converts.get_output().stdout).into_owned();
    assert!(said.contains("1 outlined"), "{said}");
    let prefix = compiled::prefix().display().to_string();
    let made = Command::new("cc")
        .args(["-pthread", "out/a.c", "-o", "made"])
        .arg(format!("-I{prefix}/include"))
        .arg(format!("-L{prefix}/lib"))
        .arg(format!("-Wl,-rpath,{prefix}/lib"))
        .arg("-lcohort")
        .current_dir(folder.path())
        .status();
    assert!(made.expect("there is a compiler").success());
    let ran = Command::new(folder.path().join("made")).output();
    let ran = ran.expect("it was built");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "1 2 3 4 2 1 3\n");
}

/// What a section declares dies with its function: no address of it may be used behind the section.
#[test]
fn an_address_that_outlives_its_section_keeps_it_in_place() {
    if !is_readable() {
        return;
    }
    let address = "an address that may be used after the critical section";
    for (inside, why) in [
        ("char b[8] = \"a\"; p = &b[1];", address),
        ("struct s v = {1, \"a\"}; q = &v.a;", address),
        ("struct s v = {1, \"a\"}; p = v.t;", address),
        ("char b[8]; p = strcpy(b, \"a\");", address),
        ("char b[8] = \"a\"; p = strchr(b, 97) + 1;", address),
        ("char b[8] = \"1\"; x = strtol(b, &p, 10);", address),
        (
            "q = (int[]){4, 5};",
            "takes the address of a compound literal",
        ),
        (
            "if (x) { int y = 4; q = &y; pthread_mutex_unlock(&m); return *q; }",
            address,
        ),
        (
            "fixed y = x; q = 0;",
            "declares y in line 15 for use after the critical section",
        ),
        (
            "const struct part y = {x}; q = 0;",
            "declares y in line 15 for use after the critical section",
        ),
    ] {
        let behind = if inside.contains("fixed y") {
            "x = y;"
        } else if inside.contains("part y") {
            "x = y.n;"
        } else {
            ""
        };
        let reason = why_in_place(&format!(
            "#include <string.h>\nstruct s {{ int a; char t[4]; }};\ntypedef const int fixed;\n\
             struct part {{ const int n; }};\nint f(char *p, int *q) {{\n  \
             pthread_mutex_lock(&m);\n  {inside}\n  pthread_mutex_unlock(&m);\n  {behind}\n  \
             return *p + *q;\n}}\n"
        ));
        assert!(reason.contains(why), "{inside}: {reason}");
    }
    // Values, and addresses that no function keeps.
    let rows = became(&format!(
        "#include <string.h>\n{MUTEX}struct s {{ int a; char t[4]; }};\nint f(char *p) {{\n  \
         pthread_mutex_lock(&m);\n  char b[8]; struct s v = {{1, \"a\"}}; strcpy(b, p); \
         memcpy(&b[1], v.t, 2); x += b[1] + v.a + (int)strlen(strcpy(b, \"c\")) + *(b + 1);\n  \
         pthread_mutex_unlock(&m);\n  return *p;\n}}\n"
    ));
    assert_eq!(rows[1].1, "function", "{rows:?}");
}

/// What a macro does with the text of its argument would differ.
#[test]
fn a_captured_name_is_not_passed_to_a_macro_that_uses_its_text() {
    if !is_readable() {
        return;
    }
    for (inside, why) in [
        (
            "a++; x = SAY(a);",
            "passes a to the macro SAY, which uses it as text",
        ),
        (
            "a++; x = MORE(a);",
            "passes a to the macro MORE, which uses it as text",
        ),
        (
            "cohort_exit++;",
            "uses cohort_exit, a name of the function's own",
        ),
        (
            "clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);",
            "for its thread's clock",
        ),
        ("one.plain();", "calls through the pointer plain"),
        (
            "x = all.first.get();",
            "calls own() through the pointer get, which calls pthread_self()",
        ),
    ] {
        let reason = why_in_place(&format!(
            "#include <time.h>\nint puts(const char *);\n#define SAY(v) (puts(#v) + v)\n\
             #define MORE(v) (v + v##_more)\nstatic int a_more;\n\
             static int own(void) {{ return pthread_self() != 0; }}\nstatic int same(void) {{ return 1; }}\n\
             struct get {{ int (*get)(void); }};\nstatic struct {{ struct get first; }} all = {{ own }};\n\
             static struct get other = {{ same }};\n\
             static union {{ int (*plain)(void); int (*odd)(void); }} one = {{ same }};\n\
             void g(void) {{ other.get(); one.odd = own; }}\nint f(int a, int cohort_exit) {{\n  \
             struct timespec t;\n  pthread_mutex_lock(&m);\n  {inside}\n  \
             pthread_mutex_unlock(&m);\n  return a + cohort_exit + a_more + (int)sizeof t;\n}}\n\
             int main(void) {{ g(); return f(1, 2); }}\n"
        ));
        assert!(reason.contains(why), "{inside}: {reason}");
    }
}

/// C++ is listed, and left as it is.
#[test]
fn sections_in_cpp_are_listed() {
    if !is_readable() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = "#include <mutex>\n#include <pthread.h>\nstatic pthread_mutex_t m;\nstatic std::mutex own;\n\
                static int x;\nvoid f() { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); }\n\
                void g() { std::lock_guard<std::mutex> held(own); x++; }\n";
    std::fs::write(folder.path().join("a.cpp"), text).expect("writable");
    let output = cohort()
        .args(["delegate", "--json", "a.cpp"])
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let sheet: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = sheet["rows"].as_array().expect("a list");
    for name in ["m", "held"] {
        let is_it = |row: &Value| {
            row["name"] == name
                && row["reason"]
                    .as_str()
                    .is_some_and(|why| why.contains("C++"))
        };
        assert!(rows.iter().any(is_it), "{name}: {rows:?}");
    }
}

/// A program's definitions for the system's headers precede them.
#[test]
fn the_library_is_included_behind_what_else_is() {
    if !is_readable() {
        return;
    }
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
        "typedef union { long words[8]; } pthread_mutex_t;\nint pthread_mutex_lock(pthread_mutex_t *);\n\
         int pthread_mutex_unlock(pthread_mutex_t *);\n/* It counts. */\nstruct counter { pthread_mutex_t lock; int x; };\n\
         void f(struct counter *c) { pthread_mutex_lock(&c->lock); c->x++; \
         pthread_mutex_unlock(&c->lock); }\n",
    );
    assert!(made.starts_with("#include <cohort.h>\n"), "{made}");
    // The first condition is no guard of the whole file.
    let made = written(&format!(
        "#ifndef NAMED\n#define NAMED 1\n#endif\n#include <pthread.h>\n{MUTEX}{PLAIN}"
    ));
    assert!(
        made.contains("#include <pthread.h>\n#include <cohort.h>\n"),
        "{made}"
    );
}

#[test]
fn a_file_that_does_not_parse_is_told_with_its_line_and_nothing_is_written() {
    if !is_readable() {
        return;
    }
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
        (vec!["--out", "out", "a.c", "a.c"], "is given twice"),
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
    if !is_readable() {
        return;
    }
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

/// All shapes with exits become functions, but the functions that only lock.
#[test]
fn a_section_with_exits_becomes_a_function() {
    if !is_readable() {
        return;
    }
    let output = cohort()
        .args(["delegate", "--json", "exits.c"])
        .current_dir(root().join("examples/delegate"))
        .assert()
        .code(0);
    let sheet: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    let rows = sheet["rows"].as_array().expect("a list");
    let count = |what: &str| rows.iter().filter(|row| row["becomes"] == what).count();
    assert_eq!(count("function"), 7, "{rows:?}");
    for row in rows.iter().filter(|row| row["becomes"] != "function") {
        let why = row["reason"].as_str().unwrap_or_default();
        assert!(
            row["becomes"] == "converted" || why.contains("only lock"),
            "{row}"
        );
    }
}

/// The programs and their conversions print the same under the real library.
#[test]
fn the_examples_do_the_same_afterwards() {
    if !is_readable() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let below = |name: &str| folder.path().join(name).display().to_string();
    let examples = root().join("examples/delegate");
    cohort()
        .args(["delegate", "--out", &below("out")])
        .args(["bank.c", "exits.c", "queue.c", "shapes.c"])
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
