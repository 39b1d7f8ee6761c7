//go:build !linux

package scratch

import "errors"

func mapped(int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmap([]byte) error { return nil }

func release([]byte) {}
