package below
