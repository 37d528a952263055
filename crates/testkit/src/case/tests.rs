use std::fs;

use super::*;

const FORMAT: Format = Format { given: &["in", "cluster", "cluster.yaml"], expected: &["out"] };

fn parse(text: &str) -> Case {
    Case::parse(text, FORMAT).expect("it can be read")
}

fn out(text: &str) -> Sections {
    vec![("out", text.to_owned())]
}

#[test]
fn sections_reach_to_the_next_one_byte_by_byte() {
    let case = parse("It shows\nthis.\n\n-- in --\n\n a\r\n-- not a header--\n-- out --\nb");
    assert_eq!(case.about(), "It shows\nthis.");
    assert_eq!(case.get("in"), Some("\n a\r\n-- not a header--\n"));
    assert_eq!(case.get("out"), Some("b"));
    assert_eq!(case.get("cluster"), None);
    assert!(case.section("cluster").is_err());
    assert_eq!(parse("It shows.\n-- in --\n-- out --\n").section("in").ok(), Some(""));
}

#[test]
fn files_that_are_no_cases() {
    for (text, problem) in [
        ("", "line 1: a sentence that says what the case shows is missing"),
        ("\n-- in --\na\n", "line 1: a sentence that says what the case shows is missing"),
        (
            "It shows.\n-- on --\n",
            "line 2: unknown section `on`; known are: in, cluster, cluster.yaml, out",
        ),
        ("It shows.\n-- in --\na\n-- in --\n", "line 4: there is another section `in`"),
    ] {
        assert_eq!(Case::parse(text, FORMAT).err().as_deref(), Some(problem), "{text}");
    }
}

#[test]
fn an_answer_is_compared_as_a_whole() {
    let case = parse("It shows.\n-- in --\n-- out --\na\nb\n");
    assert_eq!(case.compare(&out("a\nb\n")), Ok(()));
    let wrong = case.compare(&out("a\nc\n")).expect_err("it differs");
    assert_eq!(
        wrong,
        "section `out` is not as expected:\n  a\n- b\n+ c\n(UPDATE_EXPECT=1 accepts what is so now)"
    );
    assert!(case.compare(&[]).expect_err("one is missing").contains("there is none:\na\nb\n"));
    let without = parse("It shows.\n-- in --\n");
    assert!(without.compare(&out("a\n")).expect_err("one is new").contains("should be\na\n"));
}

#[test]
fn answers_that_prove_nothing_are_refused() {
    assert!(settle(FORMAT, vec![]).is_err());
    assert!(settle(FORMAT, out("")).is_err());
    assert!(settle(FORMAT, vec![("in", "a".into())]).is_err());
    assert!(settle(FORMAT, out("a\n-- out --\n")).is_err());
    assert_eq!(settle(FORMAT, out("a")), Ok(out("a\n")));
}

#[test]
fn only_what_is_expected_is_rewritten() {
    let text = "It shows.\n\n-- out --\nold\n-- in --\nkept";
    assert_eq!(
        parse(text).rewrite(&out("new\n")),
        "It shows.\n\n-- out --\nnew\n-- in --\nkept",
        "in its place"
    );
    assert_eq!(parse(text).rewrite(&[]), "It shows.\n\n-- in --\nkept", "no longer said");
    assert_eq!(
        parse("It shows.\n-- in --\nkept").rewrite(&out("new\n")),
        "It shows.\n-- in --\nkept\n-- out --\nnew\n",
        "said for the first time"
    );
}

#[test]
fn clusters_of_several_notations_are_one() {
    let yaml = "-- cluster.yaml --\n{kind: Node, metadata: {name: b}}\n";
    let case = parse(&format!("It shows.\n{yaml}-- cluster --\nnode a\n"));
    let (snapshot, _) = case.cluster().expect("it can be read").read();
    let names = snapshot.nodes().iter().map(|&node| &*snapshot.node(node).name);
    assert_eq!(names.collect::<Vec<_>>(), ["a", "b"]);

    let faulty = parse("It shows.\n-- cluster --\nnode a\nnode b colour=red\n");
    let message = faulty.cluster().expect_err("colour is no word").message().map(str::to_owned);
    assert!(message.as_deref().is_some_and(|m| m.starts_with("line 4: ")), "{message:?}");
    assert!(parse("It shows.\n-- in --\n").cluster().is_err());
}

#[test]
fn files_are_found_and_strays_are_refused() {
    let folder = std::env::temp_dir().join(format!("testkit-{}", std::process::id()));
    let names =
        || trials_of(&folder).map(|found| found.into_iter().map(|(name, _)| name).collect());
    assert!(names().is_err_and(|problem: String| problem.contains("cannot read")));
    fs::create_dir_all(folder.join("inner")).expect("it can be made");
    let empty: Result<Vec<String>, String> = names();
    fs::write(folder.join("inner/b.case"), "").expect("it can be written");
    fs::write(folder.join("a.case"), "").expect("it can be written");
    fs::write(folder.join("README.md"), "").expect("it can be written");
    let found = names();
    fs::write(folder.join("c.cases"), "").expect("it can be written");
    let stray = names();
    fs::remove_dir_all(&folder).expect("it can be removed");
    assert!(empty.is_err_and(|problem| problem.contains("holds no file")));
    assert_eq!(found, Ok(vec!["a".to_owned(), "inner/b".to_owned()]));
    assert!(stray.is_err_and(|problem| problem.contains("does not end in .case")));
}

/// One test for all that depends on the environment, which all tests of a process share.
#[test]
fn a_file_is_checked() {
    let file = std::env::temp_dir().join(format!("testkit-{}.case", std::process::id()));
    fs::write(&file, "It shows.\n-- in --\na\n-- out --\na\n").expect("it can be written");
    let echo = |case: &Case| Ok(out(case.section("in")?));
    let right = run(&file, FORMAT, &echo);
    let wrong = run(&file, FORMAT, &|_| Ok(out("b")));
    let failed = run(&file, FORMAT, &|case| Ok(out(case.section("cluster")?)));
    fs::remove_file(&file).expect("it can be removed");
    assert!(right.is_ok());
    if std::env::var_os(UPDATE).is_none() {
        assert!(wrong.is_err());
    }
    assert!(failed.is_err());
}
