//! Each complaint names its field and says what is allowed.

use super::*;

#[test]
fn a_grid_divides_an_hour_and_every_change_of_the_zones_clocks() {
    let grid = |zone: &str, grid: u32| {
        let table = json!({"grid_minutes": grid, "duration_minutes": grid});
        let tables = with_table(zone, &table).err().unwrap_or_default();
        tables
            .into_iter()
            .filter(|what| what.contains("table-4"))
            .collect::<Vec<_>>()
    };
    for good in [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60] {
        assert_eq!(grid("Europe/London", good), Vec::<String>::new(), "{good}");
    }
    for bad in [0, 7, 8, 9, 16, 25, 45, 90, 120] {
        let complaint = "resources.table-4.grid_minutes: must divide an hour";
        assert_eq!(grid("Europe/London", bad), [complaint], "{bad}");
    }
    for good in [1, 2, 3, 5, 6, 10, 15, 30] {
        assert_eq!(
            grid("Australia/Lord_Howe", good),
            Vec::<String>::new(),
            "{good}"
        );
    }
    for bad in [4, 12, 20, 60] {
        let complaint = "resources.table-4.grid_minutes: must divide the 30 minutes by which the \
            clocks of Australia/Lord_Howe change";
        assert_eq!(grid("Australia/Lord_Howe", bad), [complaint], "{bad}");
    }
}
