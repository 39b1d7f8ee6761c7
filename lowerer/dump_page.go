package lowerer

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	_ "embed"

	"github.com/rules-pte/rules_pte/lowerer/diag"
)

//go:embed dump.html
var dumpPage string

// Close writes stages.html, the page with the stages side by side.
func (d *Dumper) Close() error {
	if d == nil {
		return nil
	}
	var b strings.Builder
	last := map[string]stage{}
	for _, s := range d.stages {
		s.section(&b, last[s.method])
		last[s.method] = s
	}
	file := filepath.Join(d.dir, "stages.html")
	if err := os.WriteFile(file, []byte(strings.Replace(dumpPage, "STAGES", b.String(), 1)), 0o666); err != nil {
		return diag.New(diag.FileWrite, file, "%w", err)
	}
	return nil
}

// section writes s as a column: what the lines up to the first node or instruction declare is folded away. Lines that
// before, the stage before, lacks are marked; a stage that changes nothing is a narrow column until it is opened.
func (s *stage) section(b *strings.Builder, before stage) {
	old := map[string]bool{}
	for line := range strings.Lines(before.text) {
		old[line] = true
	}
	var head, body []string
	added := 0
	for line := range strings.Lines(s.text) {
		isNew := before.text != "" && !old[line]
		if isNew {
			added++
		}
		if item := listItem(strings.TrimSuffix(line, "\n"), isNew); declares.MatchString(line) {
			head = append(head, item)
		} else {
			body = append(body, item)
		}
	}
	class, expanded, note := "", true, fmt.Sprintf("%d lines, %d of them new", len(body), added)
	switch before.text {
	case "":
		note = fmt.Sprintf("%d lines", len(body))
	case s.text:
		class, expanded, note = ` class="closed"`, false, "no change"
	}
	name := html.EscapeString(s.name)
	fmt.Fprintf(b, "<section%s aria-label=\"%s\"><h2><button aria-expanded=\"%v\"><b>%s</b><small>%s: %s</small></button></h2>\n<div class=\"body\">",
		class, name, expanded, name, html.EscapeString(s.method), note)
	fmt.Fprintf(b, "<details><summary>%d declarations</summary><ol>\n%s</ol></details>\n<ol>\n%s</ol></div></section>\n",
		len(head), strings.Join(head, ""), strings.Replace(strings.Join(body, ""), `tabindex="-1"`, `tabindex="0"`, 1))
}

var (
	// declares finds lines that are no node, instruction or output.
	declares = regexp.MustCompile(`^(method|plan|in_spec|out_spec|symbol|const|parameter|buffer|constant|value|v\d+:|inputs|outputs|delegate) ?`)
	// handleOf finds the exported node's number, behind the node's name in a plan.
	handleOf = regexp.MustCompile(`  # (?:\S+ )?(\d+)(?: |$)`)
	// words finds operators, values and constants in escaped text.
	words = regexp.MustCompile(`\w+::[\w.]+|[%@](?:[\w.]+|&#34;.*?&#34;)|\bv\d+\b`)
)

// listItem is a line of text as an item of a list. The tab key reaches the first one of a stage, arrows the others.
func listItem(line string, isNew bool) string {
	attributes := ` tabindex="-1"`
	if m := handleOf.FindStringSubmatch(line); m != nil && m[1] != "0" {
		attributes += ` data-h="` + m[1] + `"`
	}
	if isNew {
		attributes += ` class="new"`
	}
	code, origin := line, ""
	if at := strings.LastIndex(line, "  # "); at >= 0 {
		code, origin = line[:at], `<span class="q">`+html.EscapeString(line[at:])+"</span>"
	}
	code = words.ReplaceAllStringFunc(html.EscapeString(code), func(w string) string {
		class := "v"
		switch {
		case strings.Contains(w, "::"):
			class = "o"
		case w[0] == '@':
			class = "c"
		}
		return `<span class="` + class + `">` + w + "</span>"
	})
	return "<li" + attributes + ">" + code + origin + "</li>\n"
}
