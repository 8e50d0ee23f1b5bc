export { login } from "./login";
export { logout } from "./session";
