//! Components in words: `knn(n_neighbors=5, p=2)`, written and read back.
//!
//! A component lists its settings once, with `settings!`: what is written and what is read cannot part ways then.

use std::fmt::{self, Formatter};
use std::str::FromStr;

use thiserror::Error;

/// Why a text names no component or pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseError {
    /// No component of this step is called so.
    #[error("there is no {step} {text:?}; there are {known}")]
    Unknown {
        /// The step.
        step: &'static str,
        /// The text met.
        text: String,
        /// What there is.
        known: String,
    },
    /// A setting that the component needs is not named.
    #[error("{component} needs {setting}=…")]
    Lacking {
        /// The component.
        component: &'static str,
        /// The setting.
        setting: &'static str,
    },
    /// The component has no such setting, or was given it twice.
    #[error("{component} has no further setting {setting:?}")]
    Superfluous {
        /// The component.
        component: &'static str,
        /// The setting.
        setting: String,
    },
    /// The setting has no such value.
    #[error("{component} has no {setting}={value}")]
    Value {
        /// The component.
        component: &'static str,
        /// The setting.
        setting: &'static str,
        /// The value met.
        value: String,
    },
    /// Steps that do not go together.
    #[error(
        "\"keep_gaps > categories > unscaled > all_features\" go together, before an estimator that takes gaps: {text:?}"
    )]
    Gaps {
        /// The text met.
        text: String,
    },
    /// A pipeline has one component a step.
    #[error("{wanted} components with \" > \" between them are wanted, not {got}: {text:?}")]
    Steps {
        /// How many steps there are.
        wanted: usize,
        /// How many components there are.
        got: usize,
        /// The text met.
        text: String,
    },
}

/// The settings of a component in words, in the order they are shown.
pub trait Settings: Sized {
    /// Each setting and its value.
    fn texts(&self) -> Vec<(&'static str, String)>;

    /// The component with the values given.
    fn from_texts(texts: &mut SettingTexts<'_>) -> Result<Self, ParseError>;
}

/// Settings that were read and wait to be taken, each by its name.
pub struct SettingTexts<'a> {
    component: &'static str,
    left: Vec<(&'a str, &'a str)>,
}

impl<'a> SettingTexts<'a> {
    /// Takes `name=value, name=value` apart.
    fn of(component: &'static str, text: &'a str) -> Result<Self, ParseError> {
        let setting = |part: &'a str| {
            let lone = || ParseError::Superfluous { component, setting: part.to_owned() };
            part.split_once('=').ok_or_else(lone)
        };
        let parts = text.split(", ").filter(|part| !part.is_empty());
        Ok(Self { component, left: parts.map(setting).collect::<Result<_, _>>()? })
    }

    /// The value of a setting.
    pub fn take<T: FromStr>(&mut self, setting: &'static str) -> Result<T, ParseError> {
        let component = self.component;
        let at = self.left.iter().position(|(name, _)| *name == setting);
        let (_, value) = self.left.remove(at.ok_or(ParseError::Lacking { component, setting })?);
        value.parse().map_err(|_| ParseError::Value { component, setting, value: value.to_owned() })
    }

    /// The value of a setting that need not be named.
    pub fn take_or<T: FromStr>(
        &mut self,
        setting: &'static str,
        usual: T,
    ) -> Result<T, ParseError> {
        let is_named = self.left.iter().any(|(name, _)| *name == setting);
        if is_named { self.take(setting) } else { Ok(usual) }
    }

    fn end(&self) -> Result<(), ParseError> {
        match self.left.first() {
            None => Ok(()),
            Some((setting, _)) => Err(ParseError::Superfluous {
                component: self.component,
                setting: (*setting).to_owned(),
            }),
        }
    }
}

/// Writes `name(setting=value, …)`, or the name alone where there is nothing to set.
pub(crate) fn write<S: Settings>(f: &mut Formatter<'_>, name: &str, of: &S) -> fmt::Result {
    let texts: Vec<String> =
        of.texts().iter().map(|(name, value)| format!("{name}={value}")).collect();
    if texts.is_empty() { f.write_str(name) } else { write!(f, "{name}({})", texts.join(", ")) }
}

/// Reads what stands between the brackets after a component's name.
pub(crate) fn read<S: Settings>(name: &'static str, inner: &str) -> Result<S, ParseError> {
    let mut texts = SettingTexts::of(name, inner)?;
    let settings = S::from_texts(&mut texts)?;
    texts.end()?;
    Ok(settings)
}

/// The name of a component and what stands in the brackets behind it.
pub(crate) fn split(text: &str) -> (&str, &str) {
    match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((name, inner)) => (name, inner),
        None => (text, ""),
    }
}

/// Says which fields of a component are its settings. Those after `unusual` are shown where they are not the default's, and need
/// not be named: a component can gain them without another name for what it was.
macro_rules! settings {
    ($component:ident { $($field:ident),* $(,)? } unusual { $($more:ident),* $(,)? }) => {
        impl $crate::settings::Settings for $component {
            fn texts(&self) -> Vec<(&'static str, String)> {
                let usual = Self::default();
                let mut texts = vec![$((stringify!($field), self.$field.to_string())),*];
                $(if self.$more != usual.$more {
                    texts.push((stringify!($more), self.$more.to_string()));
                })*
                texts
            }

            fn from_texts(
                texts: &mut $crate::settings::SettingTexts<'_>,
            ) -> Result<Self, $crate::ParseError> {
                let usual = Self::default();
                Ok(Self {
                    $($field: texts.take(stringify!($field))?,)*
                    $($more: texts.take_or(stringify!($more), usual.$more)?,)*
                })
            }
        }
    };
    ($component:ident { $($field:ident),* $(,)? }) => {
        impl $crate::settings::Settings for $component {
            fn texts(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($field), self.$field.to_string())),*]
            }

            fn from_texts(
                _texts: &mut $crate::settings::SettingTexts<'_>,
            ) -> Result<Self, $crate::ParseError> {
                Ok(Self { $($field: _texts.take(stringify!($field))?),* })
            }
        }
    };
}

/// Gives each variant of a setting its word.
macro_rules! words {
    ($setting:ident { $($variant:ident => $word:literal),* $(,)? }) => {
        impl std::fmt::Display for $setting {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $word,)*
                })
            }
        }

        impl std::str::FromStr for $setting {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(()),
                }
            }
        }
    };
}
