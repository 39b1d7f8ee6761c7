// Package table prints results of benchmarks as text and as Markdown.
package table

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

// WriteJSON writes measurements to a file, indented.
func WriteJSON(file string, measurements any) error {
	text, err := json.MarshalIndent(measurements, "", "\t")
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write measurements: %w", err)
	}
	return nil
}

// Table is rows of cells, the first row the header.
type Table struct {
	Title string
	Rows  [][]string
}

// Add appends a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Text is the table as Aligned writes it, below its title.
func (t *Table) Text() string { return t.Title + "\n\n" + Aligned(t.Rows) + "\n" }

// Markdown is the table in Markdown, below a title of the second level.
func (t *Table) Markdown() string { return "## " + t.Title + "\n\n" + Markdown(t.Rows) + "\n" }

// Aligned is rows with columns below each other: the first to the left, the others to the right.
func Aligned(rows [][]string) string {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			if i == 0 {
				line = fmt.Sprintf("%-*s", width[0], cell)
				continue
			}
			line += fmt.Sprintf("  %*s", width[i], cell)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Markdown is rows as a table in Markdown, the first its head.
func Markdown(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|---" + strings.Repeat("|--:", len(row)-1) + "|\n")
		}
	}
	return b.String()
}

// WriteSection puts a section, which begins with a title of the first level, into a file of such sections: in place of the
// one with that title, or at the end. The file need not be there.
func WriteSection(file, section string) error {
	old, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("read tables: %w", err)
	}
	if err := os.WriteFile(file, []byte(replaceSection(string(old), section)), 0o644); err != nil {
		return fmt.Errorf("write tables: %w", err)
	}
	return nil
}

func replaceSection(page, section string) string {
	section = strings.TrimRight(section, "\n") + "\n"
	title, _, _ := strings.Cut(section, "\n")
	var sections []string
	for i, s := range strings.Split("\n"+page, "\n# ") {
		if s = strings.TrimSpace(s); s != "" && i > 0 {
			s = "# " + s
		}
		if s != "" {
			sections = append(sections, s+"\n")
		}
	}
	for i, s := range sections {
		if strings.HasPrefix(s, title+"\n") {
			sections[i] = section
			return strings.Join(sections, "\n")
		}
	}
	return strings.Join(append(sections, section), "\n")
}

// LoadAverage is how many processes wanted to run in the last minute, or "" where the system does not say.
func LoadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
