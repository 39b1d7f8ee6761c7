// Package browser drives a headless Chromium in tests, by the DevTools protocol over a pipe.
package browser

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Browser is a running Chromium.
type Browser struct {
	cmd     *exec.Cmd
	profile string
	in      io.WriteCloser

	mu      sync.Mutex
	last    int
	waiting map[int]chan message
	faults  []string // what pages reported
	err     error    // why no more answers come
}

// message is a command, an answer or an event.
type message struct {
	ID        int                       `json:"id,omitempty"`
	SessionID string                    `json:"sessionId,omitempty"`
	Method    string                    `json:"method,omitempty"`
	Params    json.RawMessage           `json:"params,omitempty"`
	Result    json.RawMessage           `json:"result,omitempty"`
	Error     *struct{ Message string } `json:"error,omitempty"`
}

// fault reports an exception or an error in the log.
func (m *message) fault() bool {
	var log struct{ Entry struct{ Level string } }
	return m.Method == "Runtime.exceptionThrown" ||
		m.Method == "Log.entryAdded" && json.Unmarshal(m.Params, &log) == nil && log.Entry.Level == "error"
}

// Start starts the Chromium at path with a profile of its own.
func Start(path string) (*Browser, error) {
	profile, err := os.MkdirTemp("", "pte-browser-")
	if err != nil {
		return nil, err
	}
	b := &Browser{profile: profile, waiting: map[int]chan message{}}
	b.cmd = exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--mute-audio", "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	b.in = in
	b.cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4
	if err := b.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	theirIn.Close()
	theirOut.Close()
	go b.read(out)
	return b, nil
}

// Close ends the browser and removes its profile.
func (b *Browser) Close() error {
	_, err := b.call("", "Browser.close", nil)
	b.in.Close()
	return errors.Join(err, b.cmd.Wait(), os.RemoveAll(b.profile))
}

// Faults are the exceptions of all pages so far, and the errors in their logs.
func (b *Browser) Faults() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.faults...)
}

// read hands answers to who waits for them, until the pipe ends.
func (b *Browser) read(out io.Reader) {
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		text, err := r.ReadBytes(0)
		var m message
		if err == nil {
			err = json.Unmarshal(text[:len(text)-1], &m)
		}
		b.mu.Lock()
		if err != nil {
			b.err = fmt.Errorf("read from browser: %w", err)
			for _, c := range b.waiting {
				close(c)
			}
			b.waiting = nil
			b.mu.Unlock()
			return
		}
		if c := b.waiting[m.ID]; c != nil {
			delete(b.waiting, m.ID)
			c <- m
		} else if m.fault() {
			b.faults = append(b.faults, string(m.Params))
		}
		b.mu.Unlock()
	}
}

// call sends a command and waits for the answer.
func (b *Browser) call(session, method string, params any) (json.RawMessage, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	c := make(chan message, 1)
	b.mu.Lock()
	if b.err != nil {
		b.mu.Unlock()
		return nil, b.err
	}
	b.last++
	b.waiting[b.last] = c
	m := message{ID: b.last, SessionID: session, Method: method, Params: text}
	if params == nil {
		m.Params = nil
	}
	if text, err = json.Marshal(m); err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("send %s: %w", method, err)
	}
	answer, ok := <-c
	switch {
	case !ok:
		return nil, fmt.Errorf("%s: the browser ended", method)
	case answer.Error != nil:
		return nil, fmt.Errorf("%s: %s", method, answer.Error.Message)
	}
	return answer.Result, nil
}

// Page is a tab.
type Page struct {
	browser *Browser
	session string
}

// Screen is what a page is shown on.
type Screen struct {
	Width, Height int // CSS pixels
	Scale         float64
	Touch, Dark   bool
}

// Open opens a URL in a new tab.
func (b *Browser) Open(url string, s Screen) (*Page, error) {
	var target struct{ TargetID string }
	if err := b.get(&target, "", "Target.createTarget", map[string]any{"url": "about:blank"}); err != nil {
		return nil, err
	}
	var session struct{ SessionID string }
	attach := map[string]any{"targetId": target.TargetID, "flatten": true}
	if err := b.get(&session, "", "Target.attachToTarget", attach); err != nil {
		return nil, err
	}
	p := &Page{b, session.SessionID}
	scheme := "light"
	if s.Dark {
		scheme = "dark"
	}
	for _, c := range []struct {
		method string
		params map[string]any
	}{
		{"Runtime.enable", nil},
		{"Log.enable", nil},
		{"Emulation.setDeviceMetricsOverride", map[string]any{"width": s.Width, "height": s.Height, "deviceScaleFactor": s.Scale, "mobile": s.Touch}},
		{"Emulation.setTouchEmulationEnabled", map[string]any{"enabled": s.Touch}},
		{"Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]string{"name": "prefers-color-scheme", "value": scheme}}}},
		{"Page.navigate", map[string]any{"url": url}},
	} {
		if err := p.Do(c.method, c.params); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// get calls and decodes the answer.
func (b *Browser) get(out any, session, method string, params any) error {
	text, err := b.call(session, method, params)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

// Do runs a DevTools command in the page.
func (p *Page) Do(method string, params map[string]any) error {
	_, err := p.browser.call(p.session, method, params)
	return err
}

// Eval gives the value of a JavaScript expression, a promise's too, as text.
func (p *Page) Eval(expression string) (string, error) {
	var answer struct {
		Result           struct{ Value any }
		ExceptionDetails *struct{ Exception struct{ Description string } }
	}
	params := map[string]any{"expression": "(async () => String(" + expression + "))()", "awaitPromise": true, "returnByValue": true}
	if err := p.browser.get(&answer, p.session, "Runtime.evaluate", params); err != nil {
		return "", err
	}
	if answer.ExceptionDetails != nil {
		return "", fmt.Errorf("evaluate %s: %s", expression, answer.ExceptionDetails.Exception.Description)
	}
	return fmt.Sprint(answer.Result.Value), nil
}

// Wait waits until an expression is true.
func (p *Page) Wait(expression string, most time.Duration) error {
	end := time.Now().Add(most)
	for {
		value, err := p.Eval("Boolean(" + expression + ")")
		if err == nil && value == "true" {
			return nil
		}
		if time.Now().After(end) {
			return errors.Join(fmt.Errorf("%s is not true after %v", expression, most), err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Screenshot is a PNG of the whole page.
func (p *Page) Screenshot() ([]byte, error) {
	var answer struct{ Data string }
	if err := p.browser.get(&answer, p.session, "Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(answer.Data)
}

// Point is a place in the page, in CSS pixels.
type Point struct{ X, Y float64 }

// Drag moves the mouse along points with its button down.
func (p *Page) Drag(points []Point) error {
	for i, at := range points {
		if i == 0 {
			if err := p.mouse("mousePressed", at); err != nil {
				return err
			}
		}
		if err := p.mouse("mouseMoved", at); err != nil {
			return err
		}
	}
	return p.mouse("mouseReleased", points[len(points)-1])
}

func (p *Page) mouse(kind string, at Point) error {
	return p.Do("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "buttons": 1, "clickCount": 1})
}

// Swipe moves a finger along points.
func (p *Page) Swipe(points []Point) error {
	touch := func(kind string, at ...Point) error {
		list := []any{}
		for _, t := range at {
			list = append(list, map[string]float64{"x": t.X, "y": t.Y})
		}
		return p.Do("Input.dispatchTouchEvent", map[string]any{"type": kind, "touchPoints": list})
	}
	for i, at := range points {
		kind := "touchMove"
		if i == 0 {
			kind = "touchStart"
		}
		if err := touch(kind, at); err != nil {
			return err
		}
	}
	return touch("touchEnd")
}

// Key presses and releases a key, such as "a", " " or "ArrowUp".
func (p *Page) Key(key string) error {
	down := map[string]any{"type": "keyDown", "key": key}
	switch {
	case len(key) == 1:
		down["text"] = key
	case key == "Enter":
		down["text"] = "\r"
	}
	if err := p.Do("Input.dispatchKeyEvent", down); err != nil {
		return err
	}
	return p.Do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key})
}

// Drop drops a file.
func (p *Page) Drop(file string, at Point) error {
	for _, kind := range []string{"dragEnter", "dragOver", "drop"} {
		data := map[string]any{"items": []any{}, "files": []string{file}, "dragOperationsMask": 1}
		if err := p.Do("Input.dispatchDragEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "data": data}); err != nil {
			return err
		}
	}
	return nil
}
