//! A reader of the aligned tables of a terminal.

/// A cell of a terminal's table.
pub struct TableCell {
    pub row: String,
    pub header: String,
    pub text: String,
}

/// The cells of the first table below `heading` that has one of these rows. Columns end where
/// headers end. A question of the study is no header.
pub fn cells_below(lines: &[Vec<char>], rows: &[String], heading: &str) -> Vec<TableCell> {
    let begins_with = |line: &[char], name: &str| {
        let name: Vec<char> = format!("{name}  ").chars().collect();
        line.starts_with(&name)
    };
    let row_of = |line: &Vec<char>| rows.iter().find(|name| begins_with(line, name));
    let is_heading = |line: &Vec<char>| {
        let text: String = line.iter().collect();
        let after = text.strip_prefix(heading);
        after.is_some_and(|after| ["", ":"].contains(&after) || after.starts_with(" by "))
    };
    let after = lines.iter().position(is_heading).unwrap_or_default();
    let Some(first) = lines[after..]
        .iter()
        .position(|line| row_of(line).is_some())
    else {
        return Vec::new();
    };
    let first = after + first;
    let top = lines[..first]
        .iter()
        .rposition(|line| line.is_empty() || is_heading(line))
        .expect("an empty line or a heading above the table")
        + 1;
    let is_header = |line: &&Vec<char>| line.first() == Some(&' ');
    let headers: Vec<&Vec<char>> = lines[top..first].iter().filter(is_header).collect();
    let mut edges: Vec<usize> = headers.iter().flat_map(|line| ends(line)).collect();
    edges.sort_unstable();
    edges.dedup();
    let cell = |line: &[char], column: usize| -> String {
        let from = column.checked_sub(1).map_or(0, |before| edges[before]);
        let letters = line.iter().take(edges[column]).skip(from);
        letters.collect::<String>().trim().to_owned()
    };
    let mut cells = Vec::new();
    let is_in_table = |line: &&Vec<char>| line.first().is_some_and(|first| *first != ' ');
    for line in lines[first..].iter().take_while(is_in_table) {
        let Some(name) = row_of(line) else { continue };
        let width = name.chars().count();
        let mut line = line.clone();
        line[..width].fill(' ');
        cells.extend((0..edges.len()).map(|column| TableCell {
            row: name.clone(),
            header: headers.iter().map(|line| cell(line, column)).collect(),
            text: cell(&line, column),
        }));
    }
    cells
}

/// The columns in which the texts of a header line end. Two blanks separate texts.
fn ends(line: &[char]) -> Vec<usize> {
    let is_end = |at: &usize| {
        let after = &line[at + 1..];
        line[*at] != ' ' && after.iter().take(2).all(|letter| *letter == ' ')
    };
    (0..line.len()).filter(is_end).map(|at| at + 1).collect()
}
