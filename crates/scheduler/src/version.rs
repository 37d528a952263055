//! What differs between the versions of kube-scheduler, in one place.

use std::fmt;

use descheduler_cluster::pod::ResizeRules;

/// A minor version of kube-scheduler that the model knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// 1.34.
    V1_34,
    /// 1.35.
    V1_35,
    /// 1.36.
    V1_36,
    /// 1.37.
    V1_37,
}

impl Version {
    /// All, oldest first.
    pub const ALL: [Self; 4] = [Self::V1_34, Self::V1_35, Self::V1_36, Self::V1_37];

    /// What cluster files are read with unless something else is asked for.
    pub const DEFAULT: Self = Self::V1_36;

    /// Reads `1.36`, `v1.36.3` and the like; a version that is not known becomes the nearest one
    /// that is, which the second value says.
    pub fn parse(text: &str) -> Option<(Self, bool)> {
        let mut parts = text.trim().trim_start_matches('v').split('.');
        let major: u32 = parts.next()?.parse().ok()?;
        let digits = parts.next()?;
        let digits = digits.trim_end_matches(|c: char| !c.is_ascii_digit());
        let minor: u32 = digits.parse().ok()?;
        let found = match (major, minor) {
            (1, 34) => Some(Self::V1_34),
            (1, 35) => Some(Self::V1_35),
            (1, 36) => Some(Self::V1_36),
            (1, 37) => Some(Self::V1_37),
            _ => None,
        };
        let oldest = (major, minor) < (1, 34);
        let nearest = if oldest { Self::V1_34 } else { Self::V1_37 };
        Some((found.unwrap_or(nearest), found.is_some()))
    }

    /// The rules of this version.
    pub(crate) fn rules(self) -> Rules {
        let since = |version| self >= version;
        Rules {
            resize: match self {
                Self::V1_34 | Self::V1_35 => ResizeRules::V1_34,
                Self::V1_36 => ResizeRules::V1_36,
                Self::V1_37 => ResizeRules::V1_37,
            },
            balance_is_a_change: since(Self::V1_36),
            image_volumes: since(Self::V1_36),
            image_volumes_raise_the_bar: since(Self::V1_37),
            declared_features: since(Self::V1_36),
            bind_mount_options: since(Self::V1_37),
            node_name_first: since(Self::V1_37),
            loose_namespace_selectors: !since(Self::V1_37),
            missing_drivers_count: since(Self::V1_37),
            capacity_scores: since(Self::V1_37),
            migration_is_announced: !since(Self::V1_36),
            device_resources: since(Self::V1_36),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1_34 => "1.34",
            Self::V1_35 => "1.35",
            Self::V1_36 => "1.36",
            Self::V1_37 => "1.37",
        })
    }
}

/// The differences, each with the section of docs/spec/scheduler.md that tells of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// How pods count that are resized in place (4.1, 14.2).
    pub(crate) resize: ResizeRules,
    /// BalancedAllocation scores the change of balance, not the balance (4.5).
    pub(crate) balance_is_a_change: bool,
    /// ImageLocality looks at image volumes too (7.4).
    pub(crate) image_volumes: bool,
    /// Image volumes raise ImageLocality's upper bound (14.4).
    pub(crate) image_volumes_raise_the_bar: bool,
    /// NodeDeclaredFeatures is on (3.6).
    pub(crate) declared_features: bool,
    /// NodeDeclaredFeatures looks at options of bind mounts (14.7).
    pub(crate) bind_mount_options: bool,
    /// NodeName narrows the nodes before they are filtered (14.5).
    pub(crate) node_name_first: bool,
    /// A namespace selector of the incoming pod that would match a namespace without labels
    /// matches all namespaces (6.1, 14.3).
    pub(crate) loose_namespace_selectors: bool,
    /// NodeVolumeLimits rejects nodes without a driver that asks for it (14.6).
    pub(crate) missing_drivers_count: bool,
    /// Portworx volumes from before it had a driver of its own count against a node's limits only
    /// where its CSINode says that the driver took over (8).
    pub(crate) migration_is_announced: bool,
    /// Extended resources may be had as devices of a class (4.2).
    pub(crate) device_resources: bool,
    /// VolumeBinding scores by capacity (14.1).
    pub(crate) capacity_scores: bool,
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn versions_as_people_and_servers_write_them() {
        let table = [
            ("1.36", Some((Version::V1_36, true))),
            ("v1.35.4", Some((Version::V1_35, true))),
            ("v1.34.1-gke.100", Some((Version::V1_34, true))),
            ("1.36+", Some((Version::V1_36, true))),
            ("1.20", Some((Version::V1_34, false))),
            ("1.99", Some((Version::V1_37, false))),
            ("2.0", Some((Version::V1_37, false))),
            ("one", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(Version::parse(text), expected, "{text}");
        }
    }
}
