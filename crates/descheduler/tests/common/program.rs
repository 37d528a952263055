//! Running the program as a user does.

use std::path::Path;

use snapbox::cmd::Command;

/// The program with these arguments, which hold no spaces, in the folder `cli/`.
pub(crate) fn descheduler(arguments: &str) -> Command {
    Command::new(env!("CARGO_BIN_EXE_descheduler"))
        .args(arguments.split_whitespace())
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli"))
        // What would lead to a live cluster, or around the one of a test.
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env_remove("HTTPS_PROXY")
        .env_remove("https_proxy")
        .env_remove("NO_COLOR")
        .env_remove("COLUMNS")
}
