//! The order in which objects are given is nobody's intention.

use super::{Printed, policy, printed};

const CLUSTER: &str = include_str!("../../../../../../examples/cluster.yaml");

/// The example's own policy, and one that enables everything.
const POLICIES: [&str; 2] =
    [include_str!("../../../../../../examples/policy.yaml"), include_str!("mutations/policy.json")];

const SHUFFLES: usize = 20;

#[test]
fn the_order_of_the_objects_does_not_matter() {
    let (head, items, tail) = items(CLUSTER);
    assert!(items.len() > 100, "only {} objects", items.len());
    let mut random = XorShift(0x5eed_cafe_f00d_d1ce);
    for text in POLICIES {
        let policy = policy(text.as_bytes()).expect("it is a policy");
        let plan = |items: &[&str]| -> Printed {
            let cluster = format!("{head}{}{tail}", items.concat());
            printed(&policy, cluster.as_bytes()).expect("it is a cluster")
        };
        let first = plan(&items);
        assert!(first.text.contains("would move: "), "{}", first.text);
        let mut items = items.clone();
        for _ in 0..SHUFFLES {
            random.shuffle(&mut items);
            assert_eq!(plan(&items), first);
        }
    }
}

/// What stands before the items of a list in YAML, each of them, and what stands behind.
fn items(list: &str) -> (&str, Vec<&str>, &str) {
    let start = list.find("\n- ").expect("it has items") + 1;
    let end = list.rfind("\nkind: List").expect("it is a list") + 1;
    let mut starts: Vec<usize> =
        list[..end].match_indices("\n- ").map(|(newline, _)| newline + 1).collect();
    starts.push(end);
    let items = starts.windows(2).map(|pair| &list[pair[0]..pair[1]]).collect();
    (&list[..start], items, &list[end..])
}

/// Random enough to shuffle, and the same in every run.
struct XorShift(u64);

impl XorShift {
    fn next(&mut self) -> u64 {
        let Self(state) = self;
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = usize::try_from(self.next() % (last as u64 + 1)).expect("it is small");
            items.swap(last, other);
        }
    }
}
