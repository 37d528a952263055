//! What the metrics make of a service at work, as Prometheus reads it, and the page that lists them.
//! `UPDATE_EXPECT=1` writes both anew.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};

use descheduler_controller::metrics::{Build, Metrics};
use descheduler_controller::observe::{
    Audience, LeaseNews, Listener, News, Planned, PolicyNews, ServingNews, Skipped,
};
use descheduler_controller::{Fixed, Missing, Stop};
use descheduler_engine::{Limits, Policy, Refusal};
use tokio::time::sleep;

use super::service::answering;
use super::toys::{Ear, cluster, policy, service};

/// The text after two cycles in which a bit of everything happens, in a fixed order.
async fn text() -> String {
    let server = cluster("p q r s", &["p", "r"]);
    server.clerk(answering("q=budget,budget r=500"));
    let (mut service, _) = service(&server, 40);
    let build = Build { version: "1.2.3".to_owned(), ..Build::default() };
    let (metrics, ear) = (Arc::new(Metrics::new(build, true)), Arc::new(Ear::default()));
    service.audience = Audience::new(vec![metrics.clone(), ear.clone()]);
    let (stopper, stop) = Stop::new();
    let limits = Limits { total: Some(3), ..Limits::default() };
    let limited = Policy { limits, ..policy() };
    let end = async {
        sleep(Duration::from_secs(60)).await;
        stopper.stop();
    };
    let mut source = Fixed;
    let (ran, ()) = tokio::join!(service.run(Arc::new(limited), &mut source, stop), end);
    ran.expect("the cluster can be read");

    for news in [
        News::Policy(PolicyNews::Refused("no".to_owned())),
        News::Lease(LeaseNews::Acquired),
        News::Serving(ServingNews::CertificateReplaced("tls.crt".to_owned())),
        News::Skipped(Skipped { cycle: 3, code: "NotReady", why: "no".to_owned() }),
    ] {
        metrics.hear(&news);
    }
    let first = ear.heard().into_iter().find_map(|news| match news {
        News::Planned(planned) => Some(planned),
        _ => None,
    });
    metrics.hear(&News::Planned(Arc::new(looping(&first.expect("a plan")))));
    let (kind, text) = metrics.page();
    assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
    ordered(&text)
}

/// A plan in which the loop breaker holds a pod and a kind may not be read.
fn looping(first: &Planned) -> Planned {
    let mut planned = first.clone();
    let mut plan = (*planned.plan).clone();
    let refused = plan.report.runs[0].refusals.first_mut().expect("a pod that is kept");
    refused.refusal = Refusal::CoolingDown { until: first.world.0.taken_at(), why: String::new() };
    planned.plan = Arc::new(plan);
    planned.missing.push(Missing {
        resource: "replicasets.apps".to_owned(),
        problem: String::new(),
        without: "",
    });
    planned
}

/// Lines by labels.
type Series = BTreeMap<String, Vec<String>>;

/// Families by name, series by labels, and no time of day.
fn ordered(text: &str) -> String {
    let mut families: BTreeMap<&str, (Vec<&str>, Series)> = BTreeMap::new();
    let mut name = "";
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# ") {
            name = rest.split(' ').nth(1).expect("a name");
            families.entry(name).or_default().0.push(line);
            continue;
        }
        let (series, value) = line.rsplit_once(' ').expect("a value");
        let labels = series.split_once('{').map_or("", |(_, labels)| labels);
        let key = labels.split("le=\"").next().expect("a part").trim_end_matches([',', '}']);
        let value = if name.ends_with("_timestamp_seconds") { "TIME" } else { value };
        let lines = families.entry(name).or_default().1.entry(key.to_owned()).or_default();
        lines.push(format!("{series} {value}"));
    }
    let mut text = String::new();
    for (head, series) in families.into_values() {
        let lines = series.into_values().flatten();
        text += &head.into_iter().map(str::to_owned).chain(lines).collect::<Vec<_>>().join("\n");
        text.push('\n');
    }
    text
}

/// Compares a file of the repository with what it should be, or writes it.
fn expect(path: &str, wanted: impl Fn(&str) -> String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let found = fs::read_to_string(&path).unwrap_or_default();
    let wanted = wanted(&found);
    if env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
        fs::write(&path, wanted).expect("written");
    } else {
        assert!(found == wanted, "{}: UPDATE_EXPECT=1 writes it anew:\n{wanted}", path.display());
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_at_work_in_figures() {
    let text = text().await;
    expect("crates/controller/tests/scripted/metrics.txt", |_| text.clone());
}

/// A row for each family: name, type, labels, help.
fn table(text: &str) -> String {
    let mut table = "| name | type | labels | what it says |\n|---|---|---|---|\n".to_owned();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let (name, help) =
            line.strip_prefix("# HELP ").and_then(|l| l.split_once(' ')).expect("help");
        let kind = lines.next().and_then(|line| line.rsplit(' ').next()).expect("a type");
        let mut sample = None;
        while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
            sample = sample.or(Some(line));
        }
        let sample = sample.unwrap_or_else(|| panic!("nothing happens that `{name}` counts"));
        let labels = sample.split_once('{').and_then(|(_, rest)| rest.rsplit_once('}'));
        let labels = labels.map_or("", |(labels, _)| labels).split("\",");
        let labels = labels.filter_map(|label| label.split_once('=')).map(|(name, _)| name);
        let labels = labels.filter(|name| *name != "le").map(|name| format!("`{name}`"));
        let labels = labels.collect::<Vec<_>>().join(", ");
        table += &format!("| `{name}` | {kind} | {labels} | {help} |\n");
    }
    table
}

#[tokio::test(start_paused = true)]
async fn the_page_lists_all_of_them() {
    let table = table(&text().await);
    let (begin, end) = ("<!-- the table: made by a test -->\n", "<!-- end of the table -->\n");
    expect("docs/metrics.md", |page| {
        let (before, rest) = page.split_once(begin).expect("the page has a place for the table");
        let (_, after) = rest.split_once(end).expect("it has an end");
        format!("{before}{begin}{table}{end}{after}")
    });
}

/// Words that begin as our metrics do.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("descheduler_"))
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_for_elsewhere_is_there() {
    let known = text().await;
    for path in ["deploy/alerts.yaml", "docs/metrics.md"] {
        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        let text = fs::read_to_string(file).expect("it can be read");
        assert!(named(&text).count() > 5, "{path}");
        for name in named(&text) {
            assert!(known.contains(&format!("# TYPE {name} ")), "{path}: there is no {name}");
        }
    }
}
