//! What one step of the search runs: a whole family of settings on one preparation.

use std::collections::BTreeMap;

use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::search::{Action, Actions};

use super::space::Space;

/// The families of a space, one action each: computations that share a preparation and a family.
pub(crate) fn actions(space: &Space) -> Result<Actions, SurrogateError> {
    let mut groups: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for at in 0..space.len() {
        let family = space.search().family(space.id(at));
        groups.entry((space.preparation_index(at), family)).or_default().push(at);
    }
    let action = |((_, _), members): ((usize, usize), Vec<usize>)| {
        let family = space.kind(members[0]).character().family;
        Action { cost_factor: family.factor(members.len()), members }
    };
    Actions::new(space.len(), groups.into_iter().map(action))
}
