//! Where a capture goes: a file, compressed by its ending, or standard output.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::layout::Layout;

/// A file that is there in full or not at all.
pub(crate) struct Target {
    path: PathBuf,
    /// What is written to until all of it is there.
    partial: PathBuf,
    out: Out,
}

enum Out {
    Plain(BufWriter<File>),
    Gzip(Box<GzEncoder<BufWriter<File>>>),
}

impl Target {
    /// Begins a file.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        // What is no regular file, such as a pipe, cannot be replaced by one.
        let is_special = fs::metadata(path).is_ok_and(|meta| !meta.is_file());
        let partial = match is_special {
            true => path.to_owned(),
            false => {
                let mut name = OsString::from(path);
                name.push(".partial");
                PathBuf::from(name)
            }
        };
        let file = BufWriter::with_capacity(1 << 20, File::create(&partial)?);
        let out = match ends_in(path, "gz") {
            true => Out::Gzip(Box::new(GzEncoder::new(file, Compression::default()))),
            false => Out::Plain(file),
        };
        Ok(Self { path: path.to_owned(), partial, out })
    }

    /// What the name of a file says about what is in it.
    pub(crate) fn layout_of(path: &Path) -> Layout {
        let inner = if ends_in(path, "gz") { path.with_extension("") } else { path.to_owned() };
        match ends_in(&inner, "yaml") || ends_in(&inner, "yml") {
            true => Layout::Yaml,
            false => Layout::Json,
        }
    }

    /// Ends the file and puts it where it belongs.
    pub(crate) fn finish(self) -> io::Result<()> {
        let Self { path, partial, out } = self;
        let mut file = match out {
            Out::Plain(file) => file,
            Out::Gzip(encoder) => encoder.finish()?,
        };
        file.flush()?;
        match partial == path {
            true => Ok(()),
            false => fs::rename(&partial, &path),
        }
    }

    /// Takes away what was written.
    pub(crate) fn discard(self) {
        if self.partial != self.path {
            // It stays where it cannot be removed, under a name that says what it is.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.out {
            Out::Plain(file) => file.write(bytes),
            Out::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Out::Plain(file) => file.flush(),
            Out::Gzip(encoder) => encoder.flush(),
        }
    }
}

fn ends_in(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending))
}
