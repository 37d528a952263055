//! `descheduler explain` on the command line: what is asked about has to be there.

#[path = "common/program.rs"]
mod program;

use program::descheduler;
use snapbox::str;

fn explain(arguments: &str) -> snapbox::cmd::Command {
    descheduler(&format!("explain {arguments} --policy policy.yaml --cluster dump"))
}

#[test]
fn a_name_without_a_namespace() {
    explain("pod web-1").assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: expected a pod with its namespace, found `web-1`
help: did you mean `shop/web-1`?

"#]]);
}

#[test]
fn a_pod_that_is_not_there() {
    explain("pod shop/web-0").assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: there is no pod `shop/web-0` in `dump`
help: did you mean `shop/web-1`?

"#]]);
}

#[test]
fn a_node_that_is_not_there() {
    explain("node worker").assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: there is no node `worker` in `dump`
help: there are a, b, c

"#]]);
}

#[test]
fn neither_pod_nor_node() {
    descheduler("explain deployment web").assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: unrecognized subcommand 'deployment'

Usage: descheduler explain pod <NAMESPACE/NAME> [OPTIONS]
       descheduler explain node <NAME> [OPTIONS]

For more information, try '--help'.

"#]]);
}
