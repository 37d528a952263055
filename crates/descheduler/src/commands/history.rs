//! `--history`: what one run leaves behind for the next.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use descheduler_engine::History;

use crate::error::CliError;

/// What earlier runs left; nothing if there is no such file yet.
pub(super) fn read(path: &Path) -> Result<History, CliError> {
    let file = path.display();
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(History::default()),
        Err(error) => {
            let error = anyhow!(error).context(format!("cannot read the history `{file}`"));
            return Err(CliError::user(error));
        }
    };
    let text = String::from_utf8(bytes);
    let read = text
        .map_err(|_| "it is not UTF-8".to_owned())
        .and_then(|text| text.parse::<History>().map_err(|error| error.to_string()));
    read.map_err(|problem| {
        let error = anyhow!("cannot use the history `{file}`: {problem}");
        CliError::user(error).help("mend it, or remove it to begin anew")
    })
}

/// Leaves a history for the next run: all of it, or what was there before.
pub(super) fn write(path: &Path, history: &History) -> Result<(), CliError> {
    // What a link leads to is replaced, and not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let beside = beside(&target);
    let written = write_new(&beside, history).and_then(|()| fs::rename(&beside, &target));
    if written.is_err() {
        // It may not even be there, and what is wrong is told already.
        let _ = fs::remove_file(&beside);
    }
    let file = path.display();
    written
        .with_context(|| format!("cannot write the history `{file}`"))
        .map_err(CliError::environment)
}

/// A name in the same folder, since only there a file can be put in the place of another at once.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
}

fn write_new(path: &Path, history: &History) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(history.to_string().as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_there_whole_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("history-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("history");
        assert_eq!(read(&path).expect("nothing yet"), History::default());
        let text = "descheduler-history v1\nmoved 2026-01-01T00:00:00Z S n/Kind/o u a - - -\n";
        let history: History = text.parse().expect("a history");
        write(&path, &history).expect("it can be written");
        assert_eq!(read(&path).expect("it can be read"), history);
        write(&path, &History::default()).expect("it can be replaced");
        assert_eq!(read(&path).expect("it can be read"), History::default());
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1, "nothing else is left");

        let missing = folder.join("missing").join("history");
        let error = write(&missing, &history).expect_err("there is no such folder");
        assert_eq!(error.exit_code(), 2);
        for odd in [&b"descheduler-history v2"[..], b"\xff", b"descheduler-history v1\nmoved"] {
            fs::write(&path, odd).expect("it can be written");
            let error = read(&path).expect_err("it is no history");
            assert_eq!((error.exit_code(), error.hint().is_some()), (1, true), "{error}");
        }
        fs::remove_dir_all(&folder).expect("it was there");
    }
}
