package tests

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// cueCommand is CUE's own command, of the version that the lowerer is compiled with.
func cueCommand(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	version := strings.TrimSpace(goRun(t, "list", "-m", "-f", "{{.Version}}", "cuelang.org/go"))
	install := exec.Command("go", "install", "cuelang.org/go/cmd/cue@"+version)
	install.Env = append(os.Environ(), "GOBIN="+dir)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("install cue: %v\n%s", err, out)
	}
	return filepath.Join(dir, "cue")
}

// TestCueLanguageServer asks CUE's language server about the spec of an example, whose module has what `pte mod init` writes: it
// finds definitions, documentation and the fields of the schema, and reports wrong syntax. A wrong field is for `cue vet`: the server
// reports none, whatever the schema is.
func TestCueLanguageServer(t *testing.T) {
	if os.Getenv("PTE_HOST") == "" {
		t.Skip("PTE_HOST is not set")
	}
	w := &workspace{t: t, dir: t.TempDir()}
	w.copy("digits.pte.cue", digits+"/digits.pte.cue", nil)
	goRun(t, "build", "-o", w.dir, "./lowerer/cmd/pte")
	if out, err := w.run("./pte", "mod", "init"); err != nil {
		t.Fatalf("mod init: %v\n%s", err, out)
	}
	c := startLSP(t, cueCommand(t), w.dir)
	text, file := string(w.read("digits.pte.cue")), "file://"+filepath.Join(w.dir, "digits.pte.cue")
	document := object{"uri": file, "languageId": "cue", "version": 1, "text": text}
	c.notify("textDocument/didOpen", object{"textDocument": document})
	for _, q := range []struct{ method, at, want string }{
		{"textDocument/definition", "digits: lower.#Pr", "cue.mod/pkg/github.com/rules-pte/rules_pte/cue/lower/lower.cue"},
		{"textDocument/hover", "\tmeth", "methods of the program, by name"},
		{"textDocument/completion", "\tm", `"memory_planning"`},
	} {
		head, _, _ := strings.Cut(text, q.at)
		position := object{"line": strings.Count(head, "\n"), "character": len(q.at)}
		if got := c.call(q.method, object{"textDocument": document, "position": position}); !strings.Contains(got, q.want) {
			t.Errorf("%s: %s, want %s", q.method, got, q.want)
		}
	}
	document["version"] = 2
	wrong := object{"text": strings.Replace(text, "methods:", "methods: :", 1)}
	c.notify("textDocument/didChange", object{"textDocument": document, "contentChanges": []object{wrong}})
	got := c.until(func(m *message) bool { return m.Method == "textDocument/publishDiagnostics" })
	if want := "expected operand, found ':'"; !strings.Contains(string(got.Params), want) {
		t.Errorf("diagnostics: %s, want %s", got.Params, want)
	}
}

type object map[string]any

// message is one of the Language Server Protocol.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      int             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
}

// client speaks with a language server.
type client struct {
	t    *testing.T
	in   io.Writer
	out  *bufio.Reader
	last int
}

// startLSP starts the server for a folder, which is a module.
func startLSP(t *testing.T, cue, dir string) *client {
	t.Helper()
	cmd := exec.Command(cue, "lsp")
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	c := &client{t: t, in: in, out: bufio.NewReader(out)}
	root := "file://" + dir
	c.call("initialize", object{
		"rootUri": root, "workspaceFolders": []object{{"uri": root, "name": "w"}},
		"capabilities": object{"workspace": object{"workspaceFolders": true}},
	})
	c.notify("initialized", object{})
	return c
}

func (c *client) send(m message) {
	c.t.Helper()
	m.Version = "2.0"
	text, err := json.Marshal(m)
	if err == nil {
		_, err = fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(text), text)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) params(x object) json.RawMessage {
	c.t.Helper()
	text, err := json.Marshal(x)
	if err != nil {
		c.t.Fatal(err)
	}
	return text
}

func (c *client) notify(method string, params object) {
	c.t.Helper()
	c.send(message{Method: method, Params: c.params(params)})
}

// call gives the result of a request.
func (c *client) call(method string, params object) string {
	c.t.Helper()
	c.last++
	c.send(message{ID: c.last, Method: method, Params: c.params(params)})
	return string(c.until(func(m *message) bool { return m.Method == "" && m.ID == c.last }).Result)
}

// until reads messages up to one that is wanted. What the server asks gets an answer that says nothing.
func (c *client) until(wanted func(*message) bool) *message {
	c.t.Helper()
	for {
		m, err := c.read()
		if err != nil {
			c.t.Fatalf("read from the language server: %v", err)
		}
		if m.ID != 0 && m.Method != "" {
			c.send(message{ID: m.ID, Result: json.RawMessage("null")})
		}
		if wanted(m) {
			return m
		}
	}
}

func (c *client) read() (*message, error) {
	var head []string
	for line := ""; !slices.Contains(head, ""); head = append(head, line) {
		text, err := c.out.ReadString('\n')
		if err != nil {
			return nil, err
		}
		line = strings.TrimSpace(text)
	}
	length, _ := strings.CutPrefix(head[0], "Content-Length: ")
	n, err := strconv.Atoi(length)
	if err != nil {
		return nil, err
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(c.out, text); err != nil {
		return nil, err
	}
	m := &message{}
	return m, json.Unmarshal(text, m)
}
