//! The topics of a workload: one, or several alike, whose partitions are numbered through. Elsewhere a partition is
//! that number; only requests and answers have topics.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result, ensure};
use kafka_protocol::messages::TopicName;

use crate::protocol::topic_name;

/// The names of a workload's topics: its own, or with a number behind it if there are several.
pub fn names(topic: &str, topics: u32) -> Vec<String> {
    match topics {
        0 | 1 => vec![topic.to_owned()],
        several => (0..several).map(|number| format!("{topic}-{number}")).collect(),
    }
}

/// A topic, and what a request holds of each of its partitions, by their indices.
pub type OfTopic<T> = (TopicName, Vec<(i32, T)>);

/// Topics with as many partitions each.
#[derive(Debug)]
pub struct Topics {
    names: Vec<TopicName>,
    numbers: HashMap<TopicName, usize>,
    each: i32,
}

impl Topics {
    /// Of so many partitions in all.
    pub fn new(names: &[String], partitions: usize) -> Result<Self> {
        ensure!(
            !names.is_empty() && partitions > 0 && partitions.is_multiple_of(names.len()),
            "{partitions} partitions do not make {} equal topics",
            names.len()
        );
        let names: Vec<TopicName> = names.iter().map(|name| topic_name(name)).collect();
        Ok(Self {
            numbers: names.iter().cloned().zip(0..).collect(),
            each: (partitions / names.len()) as i32,
            names,
        })
    }

    /// The number of a topic's partition among all.
    pub fn number(&self, topic: &TopicName, partition: i32) -> Result<i32> {
        let topic = self
            .numbers
            .get(topic)
            .with_context(|| format!("the broker named topic {}, which was not asked for", topic.0))?;
        Ok(*topic as i32 * self.each + partition)
    }

    /// What a request holds of each topic: `items` have a partition's number, and take its index in its topic.
    pub fn by_topic<T>(&self, items: impl IntoIterator<Item = (i32, T)>) -> Vec<OfTopic<T>> {
        let mut found: BTreeMap<usize, Vec<(i32, T)>> = BTreeMap::new();
        for (number, item) in items {
            let topic = (number / self.each) as usize;
            found.entry(topic).or_default().push((number % self.each, item));
        }
        found
            .into_iter()
            .map(|(topic, items)| (self.names[topic].clone(), items))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_numbered_through() {
        let topics = Topics::new(&names("t", 3), 12).unwrap();
        assert_eq!(topics.number(&topic_name("t-2"), 3).unwrap(), 11);
        assert!(topics.number(&topic_name("t"), 0).is_err());
        let grouped = topics.by_topic([(0, 'a'), (5, 'b'), (3, 'c'), (11, 'd')]);
        let shown: Vec<(String, Vec<(i32, char)>)> = grouped
            .into_iter()
            .map(|(name, items)| (name.0.to_string(), items))
            .collect();
        assert_eq!(
            shown,
            [
                ("t-0".to_owned(), vec![(0, 'a'), (3, 'c')]),
                ("t-1".to_owned(), vec![(1, 'b')]),
                ("t-2".to_owned(), vec![(3, 'd')])
            ]
        );
    }

    #[test]
    fn one_topic_has_its_own_name() {
        assert_eq!(names("t", 1), ["t"]);
        assert_eq!(names("t", 2), ["t-0", "t-1"]);
        assert!(Topics::new(&names("t", 2), 3).is_err());
    }
}
