//! Actions: the things that can be run, each revealing one pipeline or a family.

use crate::error::SurrogateError;

/// One thing to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// The pipelines it reveals.
    pub members: Vec<usize>,
    /// Its cost in times of its slowest member: 1 for a fit that yields its members on the way, 2 for a
    /// path of warm-started fits, say.
    pub cost_factor: f64,
}

/// All that can be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Actions {
    n_pipelines: usize,
    members: Vec<usize>,
    starts: Vec<usize>,
    cost_factors: Vec<f64>,
}

impl Actions {
    /// Every pipeline by itself.
    pub fn singles(n_pipelines: usize) -> Self {
        Self {
            n_pipelines,
            members: (0..n_pipelines).collect(),
            starts: (0..=n_pipelines).collect(),
            cost_factors: vec![1.0; n_pipelines],
        }
    }

    /// The actions given, over pipelines `0..n_pipelines`.
    pub fn new(
        n_pipelines: usize,
        actions: impl IntoIterator<Item = Action>,
    ) -> Result<Self, SurrogateError> {
        let mut all =
            Self { n_pipelines, members: Vec::new(), starts: vec![0], cost_factors: Vec::new() };
        for (at, action) in actions.into_iter().enumerate() {
            if action.members.is_empty() {
                return Err(SurrogateError::Empty { what: "action" });
            }
            if let Some(&index) = action.members.iter().find(|&&j| j >= n_pipelines) {
                let size = n_pipelines;
                return Err(SurrogateError::OutOfRange { what: "pipeline", index, size });
            }
            if !action.cost_factor.is_finite() || action.cost_factor <= 0.0 {
                let (what, value) = ("cost factors", action.cost_factor);
                return Err(SurrogateError::NotPositive { what, at, value });
            }
            all.members.extend(&action.members);
            all.starts.push(all.members.len());
            all.cost_factors.push(action.cost_factor);
        }
        if all.cost_factors.is_empty() {
            return Err(SurrogateError::Empty { what: "list of actions" });
        }
        Ok(all)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.cost_factors.len()
    }

    /// Never: there is always something to run.
    pub fn is_empty(&self) -> bool {
        self.cost_factors.is_empty()
    }

    /// How many pipelines they are over.
    pub fn n_pipelines(&self) -> usize {
        self.n_pipelines
    }

    /// The pipelines an action reveals.
    pub fn members(&self, action: usize) -> &[usize] {
        &self.members[self.starts[action]..self.starts[action + 1]]
    }

    /// The cost of an action in times of its slowest member.
    pub fn cost_factor(&self, action: usize) -> f64 {
        self.cost_factors[action]
    }

    /// What an action costs, given each pipeline's seconds: its factor times its slowest member that
    /// `counts`; `None` where no member does.
    pub fn cost_secs(
        &self,
        action: usize,
        secs: &[f64],
        counts: impl Fn(usize) -> bool,
    ) -> Option<f64> {
        self.members(action)
            .iter()
            .filter(|&&j| counts(j))
            .map(|&j| secs[j])
            .reduce(f64::max)
            .map(|slowest| slowest * self.cost_factors[action])
    }
}
