package pt2

import "errors"

func (a *Archive) pickled(r record) (map[string]*payload, error) { return nil, errors.New("x") }
