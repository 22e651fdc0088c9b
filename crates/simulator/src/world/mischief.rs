//! What goes wrong in a world, from its first action to its rest.

use chrono::TimeDelta;
use serde_json::json;

use super::World;
use crate::kinds::Weather;

pub(super) fn begin(world: &World, weather: &Weather) {
    let cloud = &world.fleet.cloud;
    cloud.faults().set_random(weather.call_faults());
    cloud.set_disorder(weather.disorder());
    cloud.set_ttl_lag(TimeDelta::hours(weather.ttl_lag_hours()));
    if weather.has_event_rules() {
        world.control("webhooks", &weather.event_rules());
    }
}

pub(super) fn end(world: &World) {
    let cloud = &world.fleet.cloud;
    cloud.faults().clear();
    cloud.set_disorder(None);
    cloud.set_ttl_lag(TimeDelta::zero());
    world.control("webhooks", &json!({"rules": []}));
    world.control("next-pay", &json!({"outcome": null}));
}
