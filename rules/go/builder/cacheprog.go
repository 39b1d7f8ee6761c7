package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// request and response are the messages of Go's GOCACHEPROG protocol
// (cmd/go/internal/cacheprog).
type request struct {
	ID       int64
	Command  string
	ActionID []byte
	OutputID []byte
	BodySize int64
}

type response struct {
	ID            int64
	Err           string   `json:",omitempty"`
	KnownCommands []string `json:",omitempty"`
	Miss          bool     `json:",omitempty"`
	OutputID      []byte   `json:",omitempty"`
	Size          int64    `json:",omitempty"`
	DiskPath      string   `json:",omitempty"`
}

// indexPrefix begins the bodies that Go keys by absolute directories (module
// indexes). They differ from run to run, so no layer holds them.
var indexPrefix = []byte("go index v")

// cache answers from read-only layers and keeps new entries in dir.
type cache struct {
	dir    string
	layers map[string]place
	fresh  map[string]entry
}

// serveCache speaks GOCACHEPROG on the standard streams. When Go closes it, the
// new entries are listed in dir/entries.
func serveCache(args []string) error {
	flags := flag.NewFlagSet("cacheprog", flag.ContinueOnError)
	dir := flags.String("dir", "", "folder for bodies")
	list := flags.String("layers", "", "file that lists the layers, one a line")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c := &cache{dir: *dir, layers: map[string]place{}, fresh: map[string]entry{}}
	names, err := os.ReadFile(*list)
	if err != nil {
		return err
	}
	for name := range strings.Lines(string(names)) {
		if err := readLayer(strings.TrimSuffix(name, "\n"), c.layers); err != nil {
			return err
		}
	}
	if err := c.serve(os.Stdin, os.Stdout); err != nil {
		return fmt.Errorf("serve cache: %w", err)
	}
	return c.list()
}

func (c *cache) serve(in io.Reader, out io.Writer) error {
	decoder := json.NewDecoder(bufio.NewReaderSize(in, 1<<20))
	encoder := json.NewEncoder(out)
	if err := encoder.Encode(response{KnownCommands: []string{"get", "put", "close"}}); err != nil {
		return err
	}
	for {
		var q request
		if err := decoder.Decode(&q); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var body []byte
		if q.BodySize > 0 {
			if err := decoder.Decode(&body); err != nil {
				return err
			}
		}
		if err := encoder.Encode(c.answer(&q, body)); err != nil {
			return err
		}
		if q.Command == "close" {
			return nil
		}
	}
}

func (c *cache) answer(q *request, body []byte) *response {
	a := &response{ID: q.ID}
	var err error
	switch q.Command {
	case "get":
		err = c.get(hex.EncodeToString(q.ActionID), a)
	case "put":
		err = c.put(q, body, a)
	case "close":
	default:
		err = fmt.Errorf("unknown command %q", q.Command)
	}
	if err != nil {
		a.Err = err.Error()
	}
	return a
}

func (c *cache) path(output string) string { return filepath.Join(c.dir, output) }

func (c *cache) get(action string, a *response) error {
	e, ok := c.fresh[action]
	if !ok {
		p, ok := c.layers[action]
		if !ok {
			a.Miss = true
			return nil
		}
		e = p.entry
		if _, err := os.Stat(c.path(e.output)); err != nil {
			if err := p.extract(c.path(e.output)); err != nil {
				return err
			}
		}
	}
	a.OutputID, _ = hex.DecodeString(e.output)
	a.Size, a.DiskPath = e.size, c.path(e.output)
	return nil
}

func (c *cache) put(q *request, body []byte, a *response) error {
	e := entry{hex.EncodeToString(q.ActionID), hex.EncodeToString(q.OutputID), int64(len(body))}
	a.DiskPath = c.path(e.output)
	if err := os.WriteFile(a.DiskPath, body, 0o666); err != nil {
		return err
	}
	if !bytes.HasPrefix(body, indexPrefix) {
		c.fresh[e.action] = e
	}
	return nil
}

// list writes the new entries for the process that packs the layer.
func (c *cache) list() error {
	var b bytes.Buffer
	for _, e := range c.fresh {
		fmt.Fprintf(&b, "%s %s %d\n", e.action, e.output, e.size)
	}
	b.WriteByte('\n')
	return os.WriteFile(c.path("entries"), b.Bytes(), 0o666)
}
