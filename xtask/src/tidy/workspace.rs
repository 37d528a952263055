//! What the rules look at: manifests, parsed sources, and the text of every file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use proc_macro2::{TokenStream, TokenTree};
use serde::Deserialize;

/// Everything in the repository that a rule may ask about. Paths are relative to its folder.
pub(super) struct Workspace {
    pub(super) packages: Vec<Package>,
    /// Every Rust file of every package.
    pub(super) sources: Vec<Source>,
    /// Every file that is text, Rust files included, by path.
    pub(super) texts: BTreeMap<String, String>,
}

/// A member of the workspace.
pub(super) struct Package {
    pub(super) name: String,
    /// Its folder.
    pub(super) folder: String,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) targets: Vec<Target>,
}

impl Package {
    pub(super) fn manifest(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }
}

/// Somewhere a compilation starts.
pub(super) struct Target {
    pub(super) path: String,
    /// Whether it holds tests alone.
    pub(super) test: bool,
}

#[derive(Deserialize)]
pub(super) struct Dependency {
    pub(super) name: String,
    /// None for an ordinary one, else `dev` or `build`.
    pub(super) kind: Option<String>,
}

/// A Rust file.
pub(super) struct Source {
    pub(super) path: String,
    /// The index of the package it lies in.
    pub(super) package: usize,
    pub(super) syntax: syn::File,
    /// The lines that hold code, not comments or blanks alone.
    pub(super) code: BTreeSet<usize>,
}

impl Source {
    pub(super) fn parse(path: &str, package: usize, text: &str) -> Result<Self> {
        let syntax = syn::parse_file(text).with_context(|| format!("parse {path}"))?;
        Ok(Self { path: path.into(), package, syntax, code: code_lines(text)? })
    }
}

impl Workspace {
    /// Reads the repository at `root`.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let packages = packages(root)?;
        let mut texts = BTreeMap::new();
        read_texts(root, root, &mut texts)?;
        let mut sources = Vec::new();
        for (path, text) in texts.iter().filter(|(path, _)| path.ends_with(".rs")) {
            // The innermost package that the file lies in.
            let owner = (0..packages.len())
                .filter(|&index| path.starts_with(&format!("{}/", packages[index].folder)))
                .max_by_key(|&index| packages[index].folder.len());
            if let Some(owner) = owner {
                sources.push(Source::parse(path, owner, text)?);
            }
        }
        Ok(Self { packages, sources, texts })
    }

    pub(super) fn text(&self, path: &str) -> &str {
        self.texts.get(path).map_or("", String::as_str)
    }
}

fn packages(root: &Path) -> Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Raw>,
    }
    #[derive(Deserialize)]
    struct Raw {
        name: String,
        manifest_path: PathBuf,
        dependencies: Vec<Dependency>,
        targets: Vec<RawTarget>,
    }
    #[derive(Deserialize)]
    struct RawTarget {
        kind: Vec<String>,
        src_path: PathBuf,
    }

    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root)
        .output()
        .context("start cargo metadata")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let Metadata { packages } =
        serde_json::from_slice(&output.stdout).context("read cargo metadata")?;
    let packages = packages.into_iter().map(|raw| {
        let folder = raw.manifest_path.parent().unwrap_or(root);
        let targets = raw.targets.iter().map(|target| Target {
            path: relative(root, &target.src_path),
            test: target.kind.iter().any(|kind| kind == "test" || kind == "bench"),
        });
        Package {
            folder: relative(root, folder),
            targets: targets.collect(),
            name: raw.name,
            dependencies: raw.dependencies,
        }
    });
    Ok(packages.collect())
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// Adds every file below `folder` that is text, but for what is built and for git's own.
fn read_texts(root: &Path, folder: &Path, texts: &mut BTreeMap<String, String>) -> Result<()> {
    let context = || format!("read {}", folder.display());
    for entry in std::fs::read_dir(folder).with_context(context)? {
        let entry = entry.with_context(context)?;
        let path = entry.path();
        let kind = entry.file_type().with_context(context)?;
        // In a second working tree `.git` is a file.
        if matches!(entry.file_name().to_str(), Some("target" | ".git")) {
            continue;
        }
        if kind.is_dir() {
            read_texts(root, &path, texts)?;
        } else if kind.is_file()
            && let Ok(text) = String::from_utf8(std::fs::read(&path).with_context(context)?)
        {
            texts.insert(relative(root, &path), text);
        }
    }
    Ok(())
}

/// The numbers of the lines that hold a token which is no doc comment.
pub(super) fn code_lines(text: &str) -> Result<BTreeSet<usize>> {
    let tokens: TokenStream =
        text.parse().map_err(|error| anyhow::anyhow!("split into tokens: {error}"))?;
    let mut lines = BTreeSet::new();
    collect_lines(tokens, &mut lines);
    Ok(lines)
}

fn collect_lines(tokens: TokenStream, lines: &mut BTreeSet<usize>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        // A doc comment arrives as `#[doc = ".."]` or `#![doc = ".."]`.
        let inner = usize::from(is_punct(tokens.get(at + 1), '!'));
        if is_punct(tokens.get(at), '#') && is_doc(tokens.get(at + 1 + inner)) {
            at += 2 + inner;
            continue;
        }
        match &tokens[at] {
            TokenTree::Group(group) => {
                lines.insert(group.span_open().start().line);
                collect_lines(group.stream(), lines);
                lines.insert(group.span_close().end().line);
            }
            token => lines.extend(token.span().start().line..=token.span().end().line),
        }
        at += 1;
    }
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

fn is_doc(token: Option<&TokenTree>) -> bool {
    let Some(TokenTree::Group(group)) = token else { return false };
    matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(ident)) if ident == "doc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blanks_are_no_code() {
        let text =
            "//! Doc.\n\n// Why.\n/// Doc.\nfn f() {\n    /* more */\n    g(\"a\n b\");\n\n}\n";
        let lines: Vec<usize> = code_lines(text).expect("it parses").into_iter().collect();
        assert_eq!(lines, [5, 7, 8, 10]);
    }
}
