import { mount } from "./lib/mount";

mount(document.getElementById("app"));
